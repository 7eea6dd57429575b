import { afterEach, describe, expect, it } from 'vitest'
import { doneTask, writeJournal } from '../helpers/journal.ts'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'

const projects: TestProject[] = []

function newProject(): TestProject {
  const project = createProject({}, { git: false })
  projects.push(project)
  return project
}

afterEach(() => {
  for (const project of projects.splice(0)) project.cleanup()
})

async function filled(): Promise<TestProject> {
  const project = newProject()
  await writeJournal(project, Date.UTC(2026, 0, 30), writer => {
    writer.run('r1')
    doneTask(writer, '1.1')
    writer.add('1.2')
  })
  return project
}

describe('ralph journal', () => {
  it('exports to standard output and imports from standard input: the other project stands where the first did', async () => {
    const from = await filled()
    const exported = await ralph(from, ['journal', 'export'])
    expect(exported.code).toBe(0)
    const lines = exported.stdout.trimEnd().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toEqual({ ralph: 'journal', version: 1 })
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      stream: 'run:r1',
      seq: 1,
      event: { type: 'run.started' },
    })

    const to = newProject()
    const imported = await ralph(to, ['journal', 'import'], { input: exported.stdout })
    expect(imported).toMatchObject({ code: 0, stdout: `${lines.length - 1} events read\n  → ralph status\n` })
    const [before, after] = await Promise.all([
      ralph(from, ['evidence', '--json']),
      ralph(to, ['evidence', '--json']),
    ])
    expect(after.stdout).toBe(before.stdout)
    expect(to.read('.ralph/.gitignore')).toBe('*\n')
  })

  it('works with files, and never writes over one', async () => {
    const from = await filled()
    const exported = await ralph(from, ['journal', 'export', 'backup.jsonl'])
    expect(exported).toMatchObject({ code: 0, stdout: '' })
    expect(exported.stderr).toMatch(/^\d+ events written to backup\.jsonl\n$/)
    const again = await ralph(from, ['journal', 'export', 'backup.jsonl'])
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('backup.jsonl exists already')
    const to = newProject()
    to.write('backup.jsonl', from.read('backup.jsonl'))
    expect((await ralph(to, ['journal', 'import', 'backup.jsonl'])).code).toBe(0)
    expect((await ralph(to, ['status'])).stdout).toContain('1 of 2 tasks done')
  })

  it('refuses a journal that has events, a file that is none, and an unknown action', async () => {
    const full = await filled()
    const backup = (await ralph(full, ['journal', 'export'])).stdout
    const twice = await ralph(full, ['journal', 'import'], { input: backup })
    expect(twice.code).toBe(1)
    expect(twice.stderr).toContain('this journal already has events')
    const broken = await ralph(newProject(), ['journal', 'import'], {
      input: `${backup.split('\n')[0]}\nnonsense\n`,
    })
    expect(broken.code).toBe(1)
    expect(broken.stderr).toContain('line 2 is not part of a journal')
    expect((await ralph(full, ['journal', 'import', 'nowhere.jsonl'])).stderr).toContain(
      'there is no file nowhere.jsonl',
    )
    const unknown = await ralph(full, ['journal', 'expört'])
    expect(unknown.code).toBe(2)
    const empty = newProject()
    expect((await ralph(empty, ['journal', 'export'])).code).toBe(1)
    expect(empty.exists('.ralph')).toBe(false)
  })
})
