import { describe, expect, it } from 'vitest'
import { claude, codex } from './clis.ts'
import { useStage } from './stage.ts'
import { honest, oneAfterTheOther, specPath } from './story.ts'

describe.each([claude, codex])('$name', cli => {
  const stage = useStage(cli)

  it('does three stories in order, each verified by a check of its own', async () => {
    const ids = ['1.1', '1.2', '2.1']
    const verified = (id: string) =>
      `---\nstatus: pending\nverify: ["grep -qx 'answer ${id}' work/${id}.txt"]\n---\n# Answer ${id}\n`
    const play = stage({
      stories: ids,
      files: Object.fromEntries(ids.map(id => [specPath(id), verified(id)])),
    })
    play.script(oneAfterTheOther(ids.map(id => honest(play.project.root, id))))
    const { code, stdout, stderr } = await play.ralph('run')
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('ALL COMPLETE!')
    expect(stdout).toContain('3 of 3 tasks done with evidence')
    expect(play.calls()).toHaveLength(3)
    expect(play.project.git('log', '--format=%s').trim().split('\n')).toEqual([
      'feat: answer 2.1',
      'feat: answer 1.2',
      'feat: answer 1.1',
      'first',
    ])
    for (const id of ids) expect(play.project.read(specPath(id))).toContain('status: done')
    // What was proven still holds.
    expect((await play.ralph('verify', '--all')).code).toBe(0)
  })
})
