import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { leashScript } from '../../src/process/leash-script.ts'
import { livingProcesses, processesFromPs } from '../../src/process/process-table.ts'
import { runProcess } from '../../src/process/run-process.ts'
import { createWorkshop, inFolder, isAlive, sh, startEngine, until } from './workshop.ts'

let shop: ReturnType<typeof createWorkshop>
beforeEach(() => {
  shop = createWorkshop()
  // A program with a child in its group and one in a session of its own.
  writeFileSync(shop.at('child'), 'echo $$ > $1\nexec sleep 60\n')
  writeFileSync(
    shop.at('program'),
    'sh child near &\nsetsid sh child far &\necho $$ > pid\nwhile :; do echo x; sleep 0.1; done\n',
  )
})
afterEach(() => shop.remove())

const pids = async () => [await shop.pid('pid'), await shop.pid('near'), await shop.pid('far')]
const allGone = async (wanted: number[]) =>
  !(await livingProcesses()).some(entry => wanted.includes(entry.pid))
/** The leash shares the program's session. */
const sessionEmpty = async (session: number | undefined) =>
  !(await livingProcesses()).some(entry => entry.family === session)

/** Those that may stand behind `/bin/sh`; the first two are everywhere, the others are tried where they are. */
const shells = ['dash', 'bash', 'busybox', 'mksh', 'yash', 'zsh'].filter(hasShell)

describe('the leash', () => {
  it('H-30 ends the whole tree when the engine is killed with -9', async () => {
    const engine = await startEngine(shop.options(['sh', 'program']))
    const tree = await pids()
    engine.kill('SIGKILL')
    await until(() => allGone(tree), 6_000)
    await until(() => sessionEmpty(tree[0]), 3_000)
    expect(readdirSync(shop.folder).filter(name => name.startsWith('processes.'))).toEqual([])
  })

  it('H-30 ends a daemon without parents that ignores TERM when the engine is killed with -9', async () => {
    writeFileSync(shop.at('daemon'), 'trap "" TERM\necho $$ > far\nexec sleep 60\n')
    writeFileSync(shop.at('leader'), 'echo $$ > near\nsleep 0.3\nsh daemon &\n')
    writeFileSync(
      shop.at('program'),
      'setsid sh leader &\necho $$ > pid\nwhile :; do echo x; sleep 0.1; done\n',
    )
    const engine = await startEngine(shop.options(['sh', 'program']))
    const [program = 0, leader = 0, daemon = 0] = await pids()
    await until(() => readFileSync(shop.at('processes'), 'utf8').includes(`\n${daemon} `))
    expect(await isAlive(leader)).toBe(false)
    engine.kill('SIGKILL')
    await until(() => allGone([program, daemon]), 8_000)
  })

  it('H-30 ends the whole tree when the engine is frozen, and the engine knows it afterwards', async () => {
    const engine = await startEngine(shop.options(['sh', 'program'], { leash: 800 }))
    const tree = await pids()
    engine.kill('SIGSTOP')
    try {
      await until(() => allGone(tree), 8_000)
      await until(() => sessionEmpty(tree[0]), 3_000)
    } finally {
      engine.kill('SIGCONT')
    }
    expect(await engine.report()).toMatchObject({ ended: 'stopped', exit: null, leftovers: 0 })
  })

  it('H-30 ends the tree of an engine that froze on the point of sending a sign of life, and the engine knows it', async () => {
    let froze = false
    const mayBeat = () => {
      if (froze) return true
      froze = true
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500)
      return true
    }
    const run = runProcess(shop.options(['sh', 'program'], { leash: 800, mayBeat }))
    expect(await run).toMatchObject({ ended: 'stopped', leftovers: 0 })
    expect(await allGone(await pids())).toBe(true)
  })

  it('ends the tree of an engine that may not send signs of life', async () => {
    let may = true
    const run = runProcess(shop.options(['sh', 'program'], { leash: 1_000, mayBeat: () => may }))
    const tree = await pids()
    may = false
    expect(await run).toMatchObject({ ended: 'stopped' })
    expect(await allGone(tree)).toBe(true)
  })

  it('holds a program for longer than the leash while signs of life come', async () => {
    const result = await runProcess(shop.options(sh('sleep 2; echo done'), { leash: 800 }))
    expect(result).toMatchObject({ exit: 0, ended: 'exit', leftovers: 0 })
  })

  it('is not ended by a program that signals its whole group', async () => {
    const engine = await startEngine(
      shop.options(
        sh(
          'trap "" TERM HUP INT USR1; kill -TERM 0; kill -HUP 0; kill -INT 0; kill -USR1 0; exec sh program',
        ),
      ),
    )
    const tree = await pids()
    engine.kill('SIGKILL')
    await until(() => allGone(tree), 6_000)
  })
})

/** What the leash does when it is run by a shell directly, without the engine's own record. */
describe.each(shells)('the script under %s', shell => {
  it.each(['proc', 'ps'])('ends the tree at the end of file, with the table from %s', async table => {
    const { child, watcher } = await start(shell, { silence: '30', table })
    const tree = await pids()
    control(child).destroy()
    await until(() => allGone(tree), 8_000)
    await until(async () => !(await isAlive(watcher)))
  })

  it('H-30 ends those who are born into sessions of their own while it makes its list', async () => {
    writeFileSync(
      shop.at('breeder'),
      'for i in $(seq 400); do setsid sleep 60 & sleep 0.005; done; echo $$ > tired; exec sleep 60\n',
    )
    writeFileSync(shop.at('program'), 'for i in 1 2 3; do sh breeder & done\necho $$ > pid\nexec sleep 60\n')
    const { child, watcher } = await start(shell, { silence: '30', table: 'proc' })
    await shop.pid('pid')
    await until(() => inFolder(shop.folder).length > 20)
    control(child).destroy()
    await until(async () => !(await isAlive(watcher)), 20_000)
    await until(() => sessionEmpty(child.pid))
    expect(existsSync(shop.at('tired')), 'the breeders were ended at their work').toBe(false)
    const left = inFolder(shop.folder)
    for (const pid of left) process.kill(pid, 'SIGKILL')
    expect(left).toEqual([])
  })

  it('ends the tree after a silence, and not before', async () => {
    const { child } = await start(shell, { silence: '0.8', table: 'proc' })
    const tree = await pids()
    for (let beats = 0; beats < 6; beats++) {
      control(child).write('beat\n')
      await new Promise(resolve => setTimeout(resolve, 150))
    }
    expect(await allGone(tree)).toBe(false)
    await until(() => allGone(tree), 8_000)
  })

  it('ends what the record names though it left the tree long ago, and nobody whose start differs', async () => {
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore', detached: true })
    const recorded = spawn('sleep', ['60'], { stdio: 'ignore', detached: true })
    try {
      const start0 = (await livingProcesses()).find(entry => entry.pid === recorded.pid)?.start
      writeFileSync(shop.at('record'), `space x\n${stranger.pid} 12345\n${recorded.pid} ${start0}\n`)
      const { child } = await start(shell, { silence: '30', table: 'proc' })
      const tree = await pids()
      control(child).destroy()
      await until(() => allGone([...tree, recorded.pid ?? 0]), 8_000)
      expect(await isAlive(stranger.pid ?? 0)).toBe(true)
    } finally {
      stranger.kill('SIGKILL')
      recorded.kill('SIGKILL')
    }
  })

  it.each(['proc', 'ps'])(
    'names the program and its watcher in the record before it begins, from %s',
    async table => {
      const { child, watcher, exit } = await start(shell, {
        silence: '30',
        table,
        program: sh('cp record seen; exit 5'),
      })
      expect(await exit).toBe(5)
      const list = table === 'ps' ? await processesFromPs() : await livingProcesses()
      const own = list.find(entry => entry.pid === watcher)
      expect(readFileSync(shop.at('seen'), 'utf8')).toMatch(
        new RegExp(`^${child.pid} \\S+\\nleash ${watcher} ${own?.start.replaceAll('?', '.')}\\n$`),
      )
      control(child).end('done\n')
      await until(() => sessionEmpty(child.pid))
    },
  )

  it('H-30 never begins the program of an engine that died before it could know of it', async () => {
    const { child, exit } = await start(shell, { silence: '30', table: 'proc', go: false })
    expect(readFileSync(shop.at('record'), 'utf8')).toMatch(new RegExp(`^${child.pid} \\d+\\n$`))
    control(child).destroy()
    expect(await exit).toBe(1)
    await until(() => sessionEmpty(child.pid))
    expect(existsSync(shop.at('pid'))).toBe(false)
  })

  it('goes home without a trace when the program has ended', async () => {
    const { child, watcher, exit } = await start(shell, {
      silence: '30',
      table: 'proc',
      program: sh('exit 5'),
    })
    expect(await exit).toBe(5)
    control(child).end('done\n')
    await until(() => sessionEmpty(child.pid))
    expect(await isAlive(watcher)).toBe(false)
  })
})

it('reads the same processes from ps as from the kernel', async () => {
  const program = spawn('sh', ['-c', 'sleep 60 & wait'], { detached: true, stdio: 'ignore' })
  try {
    await until(async () => (await livingProcesses()).some(entry => entry.ppid === program.pid))
    const shape = (entries: Awaited<ReturnType<typeof livingProcesses>>) =>
      entries
        .filter(entry => entry.pid === program.pid || entry.ppid === program.pid)
        .map(({ pid, ppid, family }) => ({ pid, ppid, family }))
        .sort((a, b) => a.pid - b.pid)
    const listed = await processesFromPs()
    expect(shape(listed)).toEqual(shape(await livingProcesses()))
    expect(listed.find(entry => entry.pid === program.pid)?.start).toMatch(/^\w{3},\w{3},\d+,[\d:]+,\d{4}$/)
  } finally {
    process.kill(-(program.pid ?? 0), 'SIGKILL')
  }
})

type Start = { silence: string; table: string; program?: string[]; go?: false }

async function start(shell: string, options: Start) {
  const script =
    options.table === 'ps' ? leashScript.replaceAll('/proc/self/stat', '/proc/self/none') : leashScript
  const args = ['leash', options.silence, shop.at('record'), '', ...(options.program ?? ['sh', 'program'])]
  const child = spawn(shell, [...(shell === 'busybox' ? ['sh'] : []), '-c', 'eval "$RALPH_LEASH"', ...args], {
    cwd: shop.folder,
    env: { PATH: process.env.PATH, RALPH_LEASH: script },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe'],
    detached: true,
    // By this name zsh and yash know that they are to be a plain shell.
    ...(shell === 'busybox' ? {} : { argv0: 'sh' }),
  })
  const exit = new Promise<number | null>(resolve => child.once('exit', resolve))
  const word = () =>
    new Promise<string>(resolve => child.stdio[4]?.once('data', data => resolve(String(data))))
  expect(await word()).toBe('ready \n')
  if (options.go === false) return { child, exit, watcher: 0 }
  control(child).write('go\n')
  return { child, exit, watcher: Number.parseInt(await word(), 10) }
}

function control(child: ChildProcess): Writable {
  return child.stdio[3] as Writable
}

function hasShell(name: string): boolean {
  return (process.env.PATH ?? '').split(':').some(folder => existsSync(`${folder}/${name}`))
}
