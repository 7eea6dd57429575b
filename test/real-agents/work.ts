import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { until } from '../helpers/ralph.ts'
import { stringsOf, textOf } from './asked.ts'
import { madeUpKey, type RealCli } from './clis.ts'
import { reviewPrompt, reviewStage } from './review.ts'
import { type Play, patience, useStage } from './stage.ts'
import { claim, honest, spec, specPath } from './story.ts'

/** What every CLI must do for real: work, be caught lying, be ended with all it started, take a large prompt. */
export function worksForReal(cli: RealCli): void {
  const stage = useStage(cli)
  /** How long one honest call takes here and now. */
  let pace = 15_000

  describe(`${cli.name}: an iteration`, () => {
    it('a lie is not believed, and told to the next attempt; what that one does and commits is', async () => {
      const play = stage()
      const [write, commit, done] = honest(play.project.root)
      play.script([{ attempts: [claim(), write] }, commit, done])
      const { code, stdout, stderr } = await play.ralph('run', '--attempts', '2')

      const [lie, truth] = play.calls()
      expect(lie, stdout + stderr).toMatchObject({
        fault: null,
        signals: [{ type: 'done', id: '1.1' }],
        change: { files: [], commits: [] },
      })
      expect(play.project.read('progress.txt')).toMatch(
        /^\[FAIL\] Story 1\.1 - Claimed done, but nothing changed .*\(attempt 1\/2\)$/mu,
      )
      const [, second] = play.requests().filter(request => request.answers === 0)
      expect(textOf(second?.body)).toContain('Claimed done, but nothing changed')

      expect(code, stdout + stderr).toBe(0)
      expect(stdout).toContain('1 of 1 task done with evidence')
      expect(truth).toMatchObject({
        fault: null,
        change: { files: [{ path: 'work/1.1.txt', how: 'added' }] },
      })
      expect(truth?.message).toBe('All is done.\n\n<ralph>DONE 1.1</ralph>')
      expect(truth?.usage).toEqual(usage[cli.tells](truth?.usage.costUsd ?? null))
      expect(play.project.git('log', '--format=%s').split('\n')).toContain('feat: answer 1.1')
      expect(leaks(path.join(play.project.root, '.ralph'))).toEqual([])
      pace = truth?.ms ?? pace
    })

    it('time is up while a child of a tool sleeps: nothing of the tree is left', async () => {
      const play = stage({
        config: { limits: { timeout: patience(pace) } },
        files: { 'slow.sh': 'sleep 4242 &\necho $! > "$1"\nwait\n' },
      })
      const pidFile = path.join(path.dirname(play.project.root), 'tmp', 'child.pid')
      play.script([{ tools: [{ shell: `sh slow.sh '${pidFile}'` }] }])
      const running = play.start('run', '--attempts', '1')
      const child = await until('the child of the tool', () => pidIn(pidFile), 60_000)
      expect(isAlive(child)).toBe(true)
      if (existsSync('/proc/self/cwd')) expect(processesIn(play.project.root)).not.toEqual([])

      const { code, stdout } = await running.ended
      expect(code, stdout).toBe(1)
      expect(play.calls()).toMatchObject([{ ended: 'timeout', fault: { kind: 'timeout' } }])
      expect(play.project.read('progress.txt')).toMatch(/\[FAIL\] Story 1\.1 - Timeout after/u)
      expect(isAlive(child)).toBe(false)
      expect(processesIn(play.project.root)).toEqual([])
    })

    it('H-28 a prompt of 1 MB arrives whole', async () => {
      const text = Array.from({ length: 22_000 }, (_, n) => `Rule ${n}: ä 漢 😀 "quoted" $HOME \\n <b>`).join(
        '\n',
      )
      const bytes = Buffer.byteLength(text)
      expect(bytes).toBeGreaterThan(1_000_000)
      const play = stage({ files: { [specPath('1.1')]: spec('1.1', text) } })
      play.script(honest(play.project.root))
      const { code, stdout, stderr } = await play.ralph('run', '--attempts', '1')
      expect(code, stdout.slice(-3000) + stderr).toBe(0)
      const first = play.requests().find(request => request.answers === 0)
      expect(stringsOf(first?.body).some(one => one.includes(text))).toBe(true)
    })
  })

  describe(`${cli.name}: a reviewer`, () => {
    const review = async (args: string[] = []): Promise<{ play: Play; code: number | null; out: string }> => {
      const play = stage({
        config: reviewStage,
        files: { 'ralph/prompts/review.md': reviewPrompt, 'implement.json': JSON.stringify(implementer) },
        agent: agents => {
          const own = agents[cli.name]
          return {
            implementer: { name: 'scripted', script: 'implement.json' },
            reviewer: { ...own, args: [...(own?.args ?? []), ...args] },
          }
        },
      })
      const { root } = play.project
      play.script([
        {
          text: 'I would rather do it myself.',
          tools: [
            { write: { path: `${root}/sneaked-in.txt`, content: 'by the reviewer\n' } },
            { shell: 'echo spoilt >> src/existing.txt' },
            { read: `${root}/work/1.1.txt` },
          ],
        },
        { text: 'Then like this.', tools: [{ shell: 'git diff --output=hole.txt HEAD~1' }] },
        { text: 'It is fine.\n\nVERDICT: pass' },
      ])
      const { code, stdout, stderr } = await play.ralph('run', '--attempts', '1')
      // He can see what he is to judge.
      expect(textOf(play.requests().at(-1)?.body), stdout + stderr).toContain('answer 1.1')
      return { play, code, out: stdout + stderr }
    }
    const expectUnharmed = ({ project }: Play) => {
      expect(project.read('src/existing.txt')).toBe('as it was\n')
      for (const file of ['sneaked-in.txt', 'hole.txt']) expect(project.exists(file), file).toBe(false)
    }
    const expectCaught = ({ play, code, out }: Awaited<ReturnType<typeof review>>) => {
      expect(play.calls().at(-1)?.violations, out).toContainEqual(
        expect.objectContaining({
          rule: 'read-only',
          detail: expect.stringContaining('a reviewer may not edit'),
        }),
      )
      expect(code, out).toBe(1)
      expect(out).toContain('a reviewer may not edit')
      expectUnharmed(play)
    }

    if (cli.fence === 'holds') {
      it('tries to edit and cannot', async () => {
        const reviewed = await review()
        const call = reviewed.play.calls().at(-1)
        expect(call, reviewed.out).toMatchObject({ fault: null, violations: [], change: { files: [] } })
        expect(reviewed.code, reviewed.out).toBe(0)
        expect(reviewed.play.project.read('work/1.1.txt')).toBe('answer 1.1\n')
        expectUnharmed(reviewed.play)
      })
    } else {
      it('edits by a way around the rules of its CLI: caught, put back, and not believed', async () => {
        expectCaught(await review())
      })
    }

    const { openFence } = cli
    if (openFence) {
      it('edits where the user has opened the fence: caught, put back, and not believed', async () => {
        expectCaught(await review(openFence))
      })
    }
  })
}

const usage = {
  cost: (costUsd: number | null) => ({
    costUsd: costUsd ?? Number.NaN,
    inputTokens: 3000,
    outputTokens: 150,
  }),
  tokens: () => ({ costUsd: null, inputTokens: 3000, outputTokens: 150 }),
  nothing: () => ({ costUsd: null, inputTokens: null, outputTokens: null }),
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

function pidIn(file: string): number {
  return existsSync(file) ? Number(readFileSync(file, 'utf8').trim()) : 0
}

/** A dead process that nobody has asked after yet (a zombie) is not alive. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z')
}

/** Where the system tells: every process that works in this folder. */
function processesIn(folder: string): string[] {
  if (!existsSync('/proc/self/cwd')) return []
  return readdirSync('/proc')
    .filter(name => /^\d+$/u.test(name))
    .filter(pid => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
      } catch {
        // Gone meanwhile, or a kernel's own.
        return false
      }
    })
    .map(pid => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '))
}

/** Files in which the key can be read. */
function leaks(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => path.join(folder, file))
    .filter(file => statSync(file).isFile() && readFileSync(file).includes(madeUpKey))
}
