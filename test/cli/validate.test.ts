import { afterEach, describe, expect, it } from 'vitest'
import type { Validation } from '../../src/commands/validate.ts'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

describe('ralph validate', () => {
  it('is content with a sound project, and writes nothing', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    const { code, stdout, stderr } = await ralph(project, ['validate'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe('✓ 1 story, verified by sh check.sh\n  → ralph run\n')
    expect(project.exists('.ralph')).toBe(false)
  })

  it('G-20 names every problem of the specs with its file and line, then the fix', async () => {
    project = storyProject({
      script: [{ do: honest() }],
      files: {
        'specs/epic-1/story-1.2-second.md':
          '---\nstatus: pending\ndepends_on: ["7.4"]\n---\n# Second\n\n## Acceptance Criteria\n- x\n',
        'specs/epic-1/story-1.3-third.md': '---\nstatus: perhaps\n---\n# Third\n',
        'specs/epic-1/story-1.4-fourth.md': '---\nstatus: pending\n---\n',
      },
    })
    const { code, stdout } = await ralph(project, ['validate'])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^specs\/epic-1\/story-1\.2-second\.md:3: story 1\.2: needs '7\.4'.*\n {2}→ Correct depends_on\.$/m,
    )
    expect(stdout).toMatch(/^specs\/epic-1\/story-1\.3-third\.md:2: warning: unknown status 'perhaps'/m)
    expect(stdout).toMatch(
      /^specs\/epic-1\/story-1\.4-fourth\.md:\d+: says nothing beyond its front matter\n {2}→ Describe/m,
    )
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^2 errors, \d+ warnings?$/)
  })

  it('G-23 lists all ids without a spec', async () => {
    project = storyProject({ script: [{ do: honest() }], files: { 'specs/order.txt': '1.1\n8.3\n9.1\n' } })
    const { code, stdout } = await ralph(project, ['validate', '--json'])
    expect(code).toBe(1)
    const { problems, ok, errors } = JSON.parse(stdout) as Validation
    expect({ ok, errors }).toEqual({ ok: false, errors: 2 })
    expect(
      problems.filter(one => one.message.startsWith('no spec for story')).map(one => [one.file, one.line]),
    ).toEqual([
      ['specs/order.txt', 2],
      ['specs/order.txt', 3],
    ])
  })

  it('names every problem of the configuration and still checks the backlog', async () => {
    project = storyProject({
      script: [],
      files: { 'specs/epic-1/story-1.9-empty.md': '---\nstatus: pending\n---\n' },
    })
    project.write('ralph.config.yaml', 'preset: stories\nverfy: npm test\nlimits:\n  attempts: none\n')
    const { code, stdout } = await ralph(project, ['validate'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^ralph\.config\.yaml:4: limits\.attempts: /m)
    expect(stdout).toMatch(/^ralph\.config\.yaml:\d+: .*verfy/m)
    expect(stdout).toContain('story-1.9-empty.md')
  })

  it('names what a run would be refused for: agent, context, specs, verify command, repository', async () => {
    project = createProject(
      { 'ralph.config.yaml': 'preset: stories\nagent: { command: "no-such-agent --flag" }\n' },
      { git: false },
    )
    const { code, stdout } = await ralph(project, ['validate'])
    expect(code).toBe(1)
    expect(stdout).toContain("ralph.config.yaml: agent 'command': 'no-such-agent' was not found on the PATH")
    expect(stdout).toContain('ralph.config.yaml: no verify command')
    expect(stdout).toContain('.: not a git repository\n  → git init')
    expect(stdout).toContain('CLAUDE.md or AGENTS.md not found')
    expect(stdout).toContain('specs: no specs/ directory\n  → Begin with `ralph new story 1.1')
    expect(stdout).toContain('5 errors')
  })

  it('warns of `verify: none`', async () => {
    project = storyProject({ script: [{ do: honest() }], verify: 'none' })
    const { code, stdout } = await ralph(project, ['validate'])
    expect(code).toBe(0)
    expect(stdout).toContain(
      'ralph.config.yaml: warning: verify: none: every task will end as done, unverified',
    )
    expect(stdout).toContain('✓ 1 story, no verify command; 1 warning')
  })
})

describe('ralph new story', () => {
  it('G-14 writes a skeleton that validates, G-17 in folders made on demand', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    const made = await ralph(project, ['new', 'story', '3.2', 'Reset', 'a', 'forgotten password'])
    expect(made).toMatchObject({
      code: 0,
      stdout:
        'wrote specs/epic-3/story-3.2-reset-a-forgotten-password.md\n  → fill it in, then: ralph validate\n',
    })
    expect(project.read('specs/epic-3/story-3.2-reset-a-forgotten-password.md')).toContain(
      '# Story 3.2: Reset a forgotten password',
    )
    expect((await ralph(project, ['validate'])).code).toBe(0)
    const json = await ralph(project, ['new', 'story', '3.3', 'More', '--json'])
    expect(JSON.parse(json.stdout)).toEqual({ id: '3.3', file: 'specs/epic-3/story-3.3-more.md' })
  })

  it('refuses what exists, what is no id, and what is no story', async () => {
    project = storyProject({ script: [] })
    const twice = await ralph(project, ['new', 'story', '1.1', 'Again'])
    expect(twice.code).toBe(1)
    expect(twice.stderr).toContain('story 1.1 exists already: specs/epic-1/')
    expect((await ralph(project, ['new', 'story', 'eleven', 'Again'])).code).toBe(2)
    const epic = await ralph(project, ['new', 'epic', '4.1', 'Big'])
    expect(epic.code).toBe(2)
    expect(epic.stderr).toContain("cannot write a new 'epic'")
  })
})
