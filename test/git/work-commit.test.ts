import { afterAll, describe, expect, it } from 'vitest'
import { failureBranch } from '../../src/git/failure-branch.ts'
import { putBack } from '../../src/git/put-back.ts'
import { workCommit } from '../../src/git/work-commit.ts'
import { busyProject } from './busy-project.ts'
import { keepAs, start } from './start.ts'
import { removeTempFolders, repositoryState, type TempProject } from './temp-project.ts'

afterAll(removeTempFolders)

const changed = (project: TempProject, from: string, to: string) =>
  project.git('diff-tree', '-r', '--name-status', '--no-renames', from, to).trim().split('\n')

describe('the commit for a failure branch', () => {
  const message = 'Ralph Loop failed: 7\n\nIterations: 5/5\nLast gate: tests\n'

  it('holds the commits and the rest of the work, and nothing that was the user’s', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    project.write('b.txt', 'agent\n')
    project.git('commit', '-q', '-m', 'Mine', '--', 'b.txt')
    const mine = project.git('rev-parse', 'HEAD').trim()
    project.write('made.txt', 'agent\n')
    project.remove('run.sh')
    const { kept } = await putBack(repository, base, { keepAs })
    const commit = await workCommit(repository, { base, kept: String(kept), message })
    const branch = await failureBranch(repository, '7', new Date(2026, 0, 2), commit)
    expect(changed(project, base.head, branch)).toEqual(['M\tb.txt', 'A\tmade.txt', 'D\trun.sh'])
    expect(project.git('rev-parse', `${branch}^`).trim()).toBe(mine)
    expect(project.git('log', '-1', '--format=%an%n%B', branch).trim()).toBe(`Ada\n${message.trim()}`)
    project.git('branch', '-q', '-D', branch)
    expect(repositoryState(project)).toEqual(before)
  })

  it('H-08 leaves out files that the agent swept into its commits', async () => {
    const project = busyProject()
    const { repository, base } = await start(project)
    project.write('b.txt', 'agent\n')
    project.git('add', '-A')
    project.git('commit', '-q', '-m', 'Everything')
    const { kept } = await putBack(repository, base, { keepAs })
    const commit = await workCommit(repository, { base, kept: String(kept), message, squash: true })
    expect(changed(project, base.head, commit)).toEqual(['M\tb.txt'])
    expect(project.git('rev-parse', `${commit}^`).trim()).toBe(base.head)
    expect(project.git('log', '--format=%s', `${base.head}..${commit}`).trim()).toBe('Ralph Loop failed: 7')
  })

  it('is the agent’s own last commit when there is nothing to add, and builds on the start when history was rewritten', async () => {
    const project = busyProject()
    const { repository, base } = await start(project)
    project.write('b.txt', 'agent\n')
    project.git('commit', '-q', '-m', 'Mine', '--', 'b.txt')
    const mine = project.git('rev-parse', 'HEAD').trim()
    const { kept } = await putBack(repository, base, { keepAs })
    expect(await workCommit(repository, { base, kept: String(kept), message })).toBe(mine)
    project.write('b.txt', 'agent\n')
    project.git('commit', '-q', '--amend', '-m', 'Rewritten', '--', 'b.txt')
    const second = await putBack(repository, base, { keepAs: `${keepAs}-rewritten` })
    const commit = await workCommit(repository, { base, kept: String(second.kept), message })
    expect(project.git('rev-parse', `${commit}^`).trim()).toBe(base.head)
  })
})
