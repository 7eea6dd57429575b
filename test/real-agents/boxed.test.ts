import { expect, it } from 'vitest'
import { textOf } from './asked.ts'
import { claude, codex, copilot, gemini, opencode, type RealCli } from './clis.ts'
import { reviewPrompt, reviewStage } from './review.ts'
import { useStage } from './stage.ts'
import { honest } from './story.ts'

/** The others say where their model is in a variable, or in a file; this one in its arguments, which nobody reads. */
const named = (cli: RealCli, url: string) => (cli === codex ? [new URL(url).host] : [])

for (const cli of [claude, codex, copilot, gemini, opencode]) {
  const stage = useStage(cli)

  it(`${cli.name}: does a story in a box that hides the home and the network, with what it says it needs`, async () => {
    const play = stage({ config: url => ({ sandbox: { use: 'bubblewrap', hosts: named(cli, url) } }) })
    play.script(honest(play.project.root))
    const { code, stdout, stderr } = await play.ralph('run', '--attempts', '1')
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toMatch(/sandbox: bubblewrap/u)
    expect(stdout).toContain('1 of 1 task done with evidence')
    expect(play.project.git('log', '--format=%s').split('\n')).toContain('feat: answer 1.1')
    // Its model, its login, nothing else; one of them looks for a package in the background.
    const refused = [...stdout.matchAll(/sandbox: refused (\S+)/gu)].map(match => match[1])
    expect(refused.filter(host => !host?.startsWith('registry.'))).toEqual([])
  })

  it(`${cli.name}: reviews in a box, and changes nothing, whatever rules its CLI has for reviewers`, async () => {
    const play = stage({
      boxed: true,
      config: reviewStage,
      files: { 'ralph/prompts/review.md': reviewPrompt, 'implement.json': JSON.stringify(implementer) },
      agent: agents => ({
        implementer: { name: 'scripted', script: 'implement.json' },
        reviewer: agents[cli.name],
      }),
    })
    const { root } = play.project
    play.script([
      {
        text: 'I would rather do it myself.',
        tools: [{ shell: 'echo spoilt >> src/existing.txt' }, { read: `${root}/work/1.1.txt` }],
      },
      { text: 'Then like this.', tools: [{ shell: 'git diff --output=hole.txt HEAD~1' }] },
      { text: 'It is fine.\n\nVERDICT: pass' },
    ])
    const { code, stdout, stderr } = await play.ralph('run', '--attempts', '1')
    expect(code, stdout + stderr).toBe(0)
    expect(textOf(play.requests().at(-1)?.body)).toContain('answer 1.1')
    expect(play.calls().at(-1)).toMatchObject({ fault: null, violations: [], change: { files: [] } })
    expect(play.project.read('src/existing.txt')).toBe('as it was\n')
    expect(play.project.exists('hole.txt')).toBe(false)
  })
}

const implementer = [
  {
    do: [
      { write: { path: 'work/1.1.txt', text: 'answer 1.1\n' } },
      { commit: { message: 'feat: the first one', paths: ['work/1.1.txt'] } },
      { done: true },
    ],
  },
]
