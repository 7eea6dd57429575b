import { afterEach, describe, expect, it } from 'vitest'
import type { Initialised } from '../../src/commands/init.ts'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'

let project: TestProject

afterEach(() => project.cleanup())

/** A stand-in on the PATH: `init` and `validate` look whether the agent is there, they call no model. */
function withAgent(): { env: Record<string, string> } {
  project.write('../home/bin/claude', '#!/bin/sh\necho "9.9.9 (Claude Code)"\n', 0o755)
  return { env: { PATH: `${project.home}/bin:${process.env.PATH ?? ''}` } }
}

const nodeProject = {
  'package.json': '{ "name": "x", "scripts": { "test": "node --test" } }\n',
  'x.test.js': '',
}

describe('ralph init', () => {
  it('G-17 writes configuration, context and a first story from what it finds; `ralph validate` passes', async () => {
    project = createProject(nodeProject)
    const options = withAgent()
    const { code, stdout } = await ralph(
      project,
      ['init', '--preset', 'stories', '--name', 'Add a login'],
      options,
    )
    expect(code).toBe(0)
    expect(stdout).toContain('+ ralph.config.yaml\n+ CLAUDE.md\n+ specs/epic-1/story-1.1-add-a-login.md\n')
    expect(stdout).toContain('agent:  claude\n')
    expect(stdout).toMatch(/verify: npm test/)
    expect(project.read('ralph.config.yaml')).toMatch(/^verify:\n {2}- "npm test/m)
    expect(project.read('CLAUDE.md')).toContain('npm test')
    expect(project.git('status', '--porcelain').trim().split('\n')).toHaveLength(3)
    const validated = await ralph(project, ['validate'], options)
    expect(validated.stdout).toContain('✓ 1 story')
    expect(validated.code).toBe(0)
  })

  it('never writes over anything, however often it is called', async () => {
    project = createProject({ ...nodeProject, 'CLAUDE.md': 'mine\n', 'specs/README.md': 'mine too\n' })
    const first = JSON.parse((await ralph(project, ['init', '--json'])).stdout) as Initialised
    expect(first).toMatchObject({ written: ['ralph.config.yaml'], kept: ['CLAUDE.md'] })
    project.write('ralph.config.yaml', 'preset: stories\n')
    const second = JSON.parse((await ralph(project, ['init', '--json'])).stdout) as Initialised
    expect(second).toMatchObject({ written: [], kept: ['ralph.config.yaml', 'CLAUDE.md'] })
    expect(project.exists('specs/epic-1')).toBe(false)
    expect(project.read('ralph.config.yaml')).toBe('preset: stories\n')
    expect(project.read('CLAUDE.md')).toBe('mine\n')
  })

  it('says first what is still missing, and does not put words into the user’s mouth', async () => {
    project = createProject({ 'AGENTS.md': '# Rules\n' }, { git: false })
    const { code, stdout } = await ralph(project, ['init', '--preset', 'stories', '--yes'], {
      env: { PATH: '/usr/bin:/bin' },
    })
    expect(code).toBe(0)
    expect(stdout).toContain('verify: none found')
    expect(stdout).toContain('1. not a git repository: git init')
    expect(stdout).toContain('say in ralph.config.yaml which command proves the work (verify)')
    expect(project.read('ralph.config.yaml')).not.toMatch(/^verify:/m)
    expect(project.read('CLAUDE.md')).toBe('@AGENTS.md\n')
    expect(project.exists('.ralph')).toBe(false)
  })

  it('without a preset named: the one whose files lie here, else `reviewed`', async () => {
    project = createProject(nodeProject)
    await ralph(project, ['init', '--yes'])
    expect(project.read('ralph.config.yaml')).toMatch(/^preset: reviewed$/m)
    expect(project.exists('ralph/tasks.json')).toBe(true)
    const found = [
      ['.specflow/config.yaml', 'pipeline'],
      ['docs/specs/001-x/tasks/TASK-001.md', 'stepwise'],
      ['specs/epic-1/story-1.1-x.md', 'stories'],
      ['plan.md', 'gated'],
    ]
    for (const [file, preset] of found) {
      project.cleanup()
      project = createProject({ ...nodeProject, [file ?? '']: '' })
      await ralph(project, ['init', '--yes'])
      expect(project.read('ralph.config.yaml')).toContain(`preset: ${preset}\n`)
    }
  })

  it('S1-08 S1-118 S1-119 S1-120 S1-121 S1-122 S1-123 S1-T28 writes the seed’s files, once, and says what comes next', async () => {
    project = createProject({ ...nodeProject, '.gitignore': 'node_modules' })
    const args = ['-C', project.root, 'init', '--preset', 'reviewed', '--name', 'login-page', '--yes']
    const options = { cwd: project.home }
    const first = await ralph(project, args, options)
    expect(first.code, first.stderr).toBe(0)
    const tasks = JSON.parse(project.read('ralph/tasks.json'))
    expect(tasks.branchName).toBe('ralph/login-page')
    expect(tasks.userStories[0]).toMatchObject({ id: 'US-001', passes: false, reviewStatus: null })
    const today = new Date().toISOString().slice(0, 10)
    expect(project.read('ralph/progress.txt')).toBe(
      `# Ralph Progress Log\nStarted: ${today}\nPRD: login-page\n\n## Codebase Patterns\n- (Reusable patterns discovered during this loop)\n\n---\n`,
    )
    expect(project.read('ralph/prd.md')).toContain('## 10. ')
    expect(project.read('ralph/prompt.md')).toContain('$RALPH_ITERATION')
    expect(project.read('.gitignore')).toBe('node_modules\n.ralph-active\n')
    expect(first.stdout).toMatch(/\nNext:\n.*ralph\/prd\.md.*ralph\/tasks\.json.*ralph validate.*ralph run/s)
    project.write('ralph/prd.md', 'mine\n')
    await ralph(project, args, options)
    expect(project.read('.gitignore')).toBe('node_modules\n.ralph-active\n')
    expect(project.read('ralph/prd.md')).toBe('mine\n')
    expect(project.exists('.ralph-active')).toBe(false)
  })

  it('says which presets there are', async () => {
    project = createProject()
    const unknown = await ralph(project, ['init', '--preset', 'waterfall'])
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toContain("unknown preset 'waterfall'")
    expect(unknown.stderr).toContain('stepwise, reviewed, pipeline, gated, stories')
    expect(project.exists('ralph.config.yaml')).toBe(false)
  })

  it('writes the prompt templates on request; the project’s own one is used, and its mistakes are found', async () => {
    project = createProject(nodeProject)
    const options = withAgent()
    await ralph(project, ['init', '--preset', 'stories', '--prompts'], options)
    expect(project.read('ralph/prompts/story.md')).toContain('{{spec}}')
    project.write('ralph/prompts/story.md', 'Do story {{id}} now:\n\n{{spec}}\n')
    const { stdout } = await ralph(project, ['run', '--dry-run'], options)
    expect(stdout).toContain('Do story 1.1 now:\n\n---\nstatus: pending\n')
    project.write('ralph/prompts/story.md', 'one\n{{titel}}\n{{#spec}}\n')
    project.write('ralph/prompts/other.md', 'x\n')
    const validated = await ralph(project, ['validate'], options)
    expect(validated.code).toBe(1)
    expect(validated.stdout).toContain("ralph/prompts/story.md:2: nothing is known by the name 'titel'")
    expect(validated.stdout).toContain("ralph/prompts/story.md:3: '{{#spec}}' is never closed")
    expect(validated.stdout).toContain('ralph/prompts/other.md: warning: no stage uses this template')
  })
})

describe.each(['stepwise', 'reviewed', 'pipeline', 'gated', 'stories'])('ralph init --preset %s', preset => {
  it.each(['--no-sandbox', '--sandbox=bubblewrap'])(
    'ends in a project where `ralph validate` passes and a rehearsal completes (%s)',
    async sandbox => {
      project = createProject({
        'package.json': '{ "name": "x", "scripts": { "test": "node --test" } }\n',
        'x.test.js': "require('node:test')('holds', () => undefined)\n",
      })
      const options = withAgent()
      const made = await ralph(
        project,
        ['init', '--preset', preset, '--name', 'Add a login', '--yes'],
        options,
      )
      expect(made.code, made.stdout + made.stderr).toBe(0)
      project.git('add', '-A')
      project.git('commit', '-qm', 'ralph init')
      const validated = await ralph(project, ['validate'], options)
      expect(validated.code, validated.stdout).toBe(0)
      const run = await ralph(project, ['run', '--agent', 'scripted', sandbox], {
        ...options,
        timeout: 50_000,
      })
      expect(run.code, run.stdout + run.stderr).toBe(0)
      const status = JSON.parse((await ralph(project, ['status', '--json'])).stdout)
      expect(status.counts.open).toBe(0)
      expect(status.proofs.verified).toBeGreaterThan(0)
      const { stdout } = await ralph(project, ['report'], options)
      expect(stdout).toContain('# Ralph report')
      expect(stdout).toMatch(/\| scripted \|/)
    },
  )
})
