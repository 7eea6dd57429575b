import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Check } from '../../src/commands/doctor-checks.ts'
import { doneTask, openJournal, writeJournal } from '../helpers/journal.ts'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

async function checks(): Promise<Record<string, Check>> {
  const { stdout } = await ralph(project, ['doctor', '--json'])
  const { checks } = JSON.parse(stdout) as { checks: Check[] }
  return Object.fromEntries(checks.map(check => [check.name, check]))
}

describe('ralph doctor', () => {
  it('finds a sound project ready, says what is not protected, and writes nothing', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    const { code, stdout } = await ralph(project, ['doctor'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^✓ node +\d+\.\d+\.\d+, journal by (libsql|node:sqlite)$/m)
    expect(stdout).toMatch(/^✓ git +\d+\.\d+\S*, on main, nothing uncommitted$/m)
    expect(stdout).toMatch(/^✓ agent scripted +\d/m)
    expect(stdout).toMatch(/^✓ verify +sh check\.sh$/m)
    expect(stdout).toMatch(/^! sandbox +direct mode: the agent has your rights/m)
    expect(stdout).toMatch(/^✓ journal +none yet/m)
    expect(stdout.trimEnd().endsWith('Ready to run.')).toBe(true)
    expect(project.exists('.ralph')).toBe(false)
  })

  it('starts each agent for real: its version, and whether it is logged in where it tells', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    const program =
      '#!/bin/sh\ncase "$1" in --version) echo "codex-cli 0.166.0";; *) echo "Not logged in" >&2; exit 1;; esac\n'
    project.write('../home/bin/codex', program, 0o755)
    const env = { PATH: `${project.home}/bin:${process.env.PATH ?? ''}` }
    const unused = await ralph(project, ['doctor'], { env })
    expect(unused.stdout).toMatch(/^✓ agent codex +0\.166\.0, not logged in \(not the configured one\)/m)
    project.write(
      'ralph.config.yaml',
      project.read('ralph.config.yaml').replace(/^agent: .*$/mu, 'agent: codex'),
    )
    const used = await ralph(project, ['doctor'], { env })
    expect(used.stdout).toMatch(/^! agent codex +0\.166\.0, not logged in\n +→ Run `codex login`/m)
    const validated = await ralph(project, ['validate'], { env })
    expect(validated.stdout).toMatch(/warning: agent 'codex': not logged in\n +→ Run `codex login`/)
  })

  it('warns of uncommitted changes, but not of the engine’s own records', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    expect((await ralph(project, ['run'])).code).toBe(0)
    // The run has written the status of the story into its spec, which is tracked.
    expect(project.git('status', '--porcelain', '-uno')).toContain('specs/')
    const clean = await checks()
    expect(clean.git).toMatchObject({ state: 'ok' })
    expect(clean.journal?.text).toMatch(/^\d+ events, whole/)
    project.write('src/existing.txt', 'changed\n')
    const { git } = await checks()
    expect(git).toMatchObject({ state: 'warning' })
    expect(git?.text).toContain('uncommitted changes in 1 tracked file: src/existing.txt')
  })

  it('names what is wrong and how to mend it, with exit code 1', async () => {
    project = createProject({ 'ralph.config.yaml': 'agent: { command: no-such-agent }\n' }, { git: false })
    const { code, stdout } = await ralph(project, ['doctor'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^✗ git +\S+, not a git repository\n +→ git init/m)
    expect(stdout).toMatch(/^✗ agent command +'no-such-agent' was not found on the PATH.*\n +→ Install it/m)
    expect(stdout).toMatch(/^✗ verify +no verify command/m)
    expect(stdout).toContain('3 problems to mend before a run.')
    project.write('ralph.config.yaml', 'agnt: claude\n')
    expect((await checks()).config).toMatchObject({ state: 'problem' })
  })

  it('says that a dead engine left its lease', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    await writeJournal(project, Date.now(), writer => writer.run('r1'))
    const { thisProcess } = await import('../../src/store/alive.ts')
    const store = openJournal(project)
    await store.dispatch.claim(
      'worktree',
      { ...thisProcess('ralph run'), started: 'long ago' },
      600_000,
      Date.now(),
    )
    store.close()
    expect((await checks()).engine).toMatchObject({
      state: 'warning',
      fix: 'Nothing to do: the next `ralph run` takes over at once.',
    })
  })
})

describe('H-30 a damaged journal', () => {
  async function damaged(): Promise<string> {
    project = storyProject({ script: [{ do: honest() }] })
    await writeJournal(project, Date.UTC(2026, 0, 1), writer => {
      writer.run('r1')
      for (let n = 1; n <= 40; n++) doneTask(writer, `1.${n}`)
    })
    const file = path.join(project.root, '.ralph', 'ralph.db')
    const bytes = readFileSync(file)
    // Whole pages in the middle are gone, as after a failing disk.
    bytes.fill(
      0x5a,
      Math.floor(bytes.length / 8192) * 4096,
      Math.floor(bytes.length / 8192) * 4096 + 3 * 4096,
    )
    writeFileSync(file, bytes)
    return file
  }

  it('is found, and what can be believed is saved into a new file', async () => {
    await damaged()
    const { journal } = await checks()
    expect(journal).toMatchObject({ state: 'problem' })
    expect(journal?.fix).toContain('ralph doctor --salvage')
    const saved = await ralph(project, ['doctor', '--salvage', 'saved.db'])
    expect(saved.code).toBe(0)
    expect(saved.stdout).toMatch(/^saved \d+ events of \d+ tasks to saved\.db$/m)
    const again = await ralph(project, ['doctor', '--salvage', 'saved.db'])
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('exists already')
  })

  it('is a clear error for everybody else', async () => {
    const file = await damaged()
    writeFileSync(file, 'this was a database once')
    const { code, stderr } = await ralph(project, ['status'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^ralph: .*ralph\.db is damaged/)
    expect(stderr).toContain('ralph doctor')
    expect(stderr).not.toContain('    at ')
    expect((await checks()).journal).toMatchObject({ state: 'problem' })
  })
})
