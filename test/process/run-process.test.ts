import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { livingProcesses } from '../../src/process/process-table.ts'
import { runProcess } from '../../src/process/run-process.ts'
import { createWorkshop, isAlive, sh, startEngine, until } from './workshop.ts'

let shop: ReturnType<typeof createWorkshop>
beforeEach(() => {
  shop = createWorkshop()
})
afterEach(() => shop.remove())

describe('how a program ends', () => {
  it.each([0, 1, 7, 124, 137, 143, 255])('gives the exit code %i', async code => {
    const result = await runProcess(shop.options(sh(`exit ${code}`)))
    expect(result).toMatchObject({ exit: code, killed: null, ended: 'exit', spawnError: null, leftovers: 0 })
  })

  it.each(['SEGV', 'KILL', 'TERM', 'ABRT'])(
    'tells a program that died of SIG%s from one that exited',
    async name => {
      const result = await runProcess(shop.options(sh(`kill -${name} $$`)))
      expect(result).toMatchObject({ exit: null, killed: `SIG${name}`, ended: 'exit' })
    },
  )

  it('says in plain words that a program cannot be started', async () => {
    writeFileSync(shop.at('text'), 'no program\n')
    writeFileSync(shop.at('moved'), '#!/nowhere/bin/python\n', { mode: 0o755 })
    const problem = async (program: string, cwd = shop.folder) =>
      (await runProcess(shop.options([program], { cwd }))).spawnError
    expect(await problem('no-such-program')).toBe('no-such-program was not found in PATH')
    expect(await problem('./missing')).toBe('./missing does not exist')
    expect(await problem('./text')).toBe(`${shop.at('text')} is not executable`)
    expect(await problem('./')).toBe('./ is a folder, not a program')
    expect(await problem('./moved')).toBe('./moved needs /nowhere/bin/python, which does not exist')
    expect(await problem('true', shop.at('gone'))).toBe(`the folder ${shop.at('gone')} does not exist`)
    expect(
      await runProcess(shop.options(['true'], { stdin: { type: 'file', path: shop.at('gone') } })),
    ).toMatchObject({
      exit: null,
      spawnError: expect.stringContaining('no such file'),
    })
  })

  it('gives the program its environment, its folder and nothing of the engine', async () => {
    process.env.RALPH_TEST_SECRET = 'engine'
    const result = await runProcess(
      shop.options(sh('env | sort; pwd; ls /proc/self/fd | wc -l'), {
        env: { PATH: '/usr/bin:/bin', A: 'b c' },
      }),
    )
    delete process.env.RALPH_TEST_SECRET
    expect(result.exit).toBe(0)
    const lines = shop
      .output()
      .trim()
      .split('\n')
      .filter(line => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line))
    expect(lines.slice(0, 3)).toEqual(['A=b c', 'PATH=/usr/bin:/bin', shop.folder])
  })
})

describe('what goes in and out', () => {
  it('hands over a prompt of 1 MB whole and closes stdin', async () => {
    const prompt = 'é'.repeat(512 * 1024)
    writeFileSync(shop.at('prompt'), prompt)
    const result = await runProcess(
      shop.options(sh('cat > copy; wc -c < copy'), { stdin: { type: 'file', path: shop.at('prompt') } }),
    )
    expect(result.exit).toBe(0)
    expect(readFileSync(shop.at('copy'), 'utf8')).toBe(prompt)
    expect(shop.output().trim()).toBe(String(1024 * 1024))
  })

  it('gives a program without a prompt an empty stdin', async () => {
    expect(await runProcess(shop.options(['cat'], { timeout: 5_000 }))).toMatchObject({
      exit: 0,
      ended: 'exit',
    })
  })

  it('gives out lines of both streams, the last one without a newline too', async () => {
    const lines: string[] = []
    await runProcess(
      shop.options(sh('printf "one\\ntwo\\r\\n\\nlast"; sleep 0.1; printf "warn\\n" >&2'), {
        onLine: (line, stream) => lines.push(`${stream}: ${line}`),
      }),
    )
    expect(lines.sort()).toEqual(['stderr: warn', 'stdout: ', 'stdout: last', 'stdout: one', 'stdout: two'])
  })

  it('lets the program open its own streams by name', async () => {
    const result = await runProcess(shop.options(sh('echo seen | tee /dev/stderr; echo named > /dev/stdout')))
    expect(result.exit).toBe(0)
    expect(shop.output().trim().split('\n').sort()).toEqual(['named', 'seen', 'seen'])
  })

  it('reads the program all the same where no named pipes can be made', async () => {
    // Too long for anything to be added to it.
    const processFile = shop.at('p'.repeat(250))
    const result = await runProcess(shop.options(sh('echo out; echo err >&2; exit 4'), { processFile }))
    expect(result).toMatchObject({ exit: 4, ended: 'exit', bytes: 8 })
    expect(shop.output().split('\n').sort()).toEqual(['', 'err', 'out'])
  })

  it('survives invalid UTF-8, control characters and characters cut in two', async () => {
    const script = String.raw`printf 'a\377\376b\000\033[31mc\n'; printf '\342\202'; sleep 0.1; printf '\254 \360\237'; sleep 0.1; printf '\230\200\n'`
    const lines: string[] = []
    const result = await runProcess(shop.options(sh(script), { onLine: line => lines.push(line) }))
    expect(result.exit).toBe(0)
    expect(lines).toEqual(['a\uFFFD\uFFFDb\0\u001b[31mc', '€ 😀'])
    expect(shop.output()).toBe('a\uFFFD\uFFFDb\0\u001b[31mc\n€ 😀\n')
  })

  it('cuts long lines for the reader and writes them whole', async () => {
    const lines: string[] = []
    await runProcess(
      shop.options(sh('head -c 5000 /dev/zero | tr "\\0" x; echo; echo next'), {
        maxLine: 100,
        onLine: line => lines.push(line),
      }),
    )
    expect(lines).toEqual(['x'.repeat(100), 'next'])
    expect(shop.output()).toBe(`${'x'.repeat(5000)}\nnext\n`)
  })

  it('gives out a line of some megabytes whole: an agent may put a long tool result into one', async () => {
    const lines: string[] = []
    await runProcess(
      shop.options(
        sh('printf "{\\"result\\":\\""; head -c 6000000 /dev/zero | tr "\\0" x; echo "\\"}"; echo next'),
        {
          onLine: line => lines.push(line),
        },
      ),
    )
    expect(lines.map(line => line.length)).toEqual([6_000_013, 4])
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ result: expect.stringMatching(/^x+$/) })
  })

  it('counts what is over the limit but does not write it, and says so once', async () => {
    const lines: string[] = []
    const script = 'for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; sleep 0.1; echo the end'
    const result = await runProcess(
      shop.options(sh(script), { maxOutput: 20, onLine: line => lines.push(line) }),
    )
    expect(result.bytes).toBe(9 * 7 + 8)
    expect(shop.output()).toBe('line 1\nline 2\nline 3\n[only the first 20 bytes of the output are kept]\n')
    expect(lines.at(-1)).toBe('the end')
  })

  it('redacts what it knows and what it recognises, in the file and in the lines', async () => {
    const lines: string[] = []
    const result = await runProcess(
      shop.options(
        sh(
          'printf "hun"; sleep 0.1; printf "ter-number-two\\n"; echo "key $API_KEY"; echo ghp_0123456789abcdefghijABCDEFGHIJ012345',
        ),
        {
          env: { PATH: process.env.PATH ?? '', API_KEY: 'value-of-the-key' },
          secrets: ['hunter-number-two'],
          onLine: line => lines.push(line),
        },
      ),
    )
    expect(result.exit).toBe(0)
    expect(lines).toEqual(['[redacted]', 'key [redacted]', '[redacted]'])
    expect(shop.output()).toBe('[redacted]\nkey [redacted]\n[redacted]\n')
  })

  it('ends the program and throws a clear error when the output cannot be written', async () => {
    const run = runProcess(shop.options(sh('echo $$ > pid; yes'), { outputFile: '/dev/full' }))
    await expect(run).rejects.toMatchObject({
      name: 'UserError',
      message: 'the disk is full: /dev/full cannot be written',
    })
    expect(await isAlive(await shop.pid('pid'))).toBe(false)
  })

  it('ends the program when a reader of its lines throws', async () => {
    const onLine = () => {
      throw new Error('bad reader')
    }
    await expect(
      runProcess(shop.options(sh('echo $$ > pid; echo x; exec sleep 60'), { onLine })),
    ).rejects.toThrow('bad reader')
    expect(await isAlive(await shop.pid('pid'))).toBe(false)
  })
})

describe('clocks', () => {
  it('H-30 ends a program that is silent for too long', async () => {
    const result = await runProcess(shop.options(sh('echo begun; sleep 60'), { idle: 300 }))
    expect(result).toMatchObject({ exit: null, killed: 'SIGTERM', ended: 'idle' })
    expect(result.ms).toBeGreaterThanOrEqual(300)
    expect(result.ms).toBeLessThan(10_000)
  })

  it('H-30 ends a noisy program when its time is up, and lets a noisy one be before', async () => {
    const result = await runProcess(
      shop.options(sh('while :; do echo x; sleep 0.05; done'), { idle: 2_000, timeout: 500 }),
    )
    expect(result).toMatchObject({ exit: null, ended: 'timeout' })
    expect(result.ms).toBeGreaterThanOrEqual(500)
  })

  it('H-30 kills a program and its children that ignore TERM', async () => {
    const script =
      'trap "" TERM; sh -c "echo \\$\\$ > child; while :; do sleep 1; done" & echo $$ > pid; while :; do sleep 1; done'
    const result = await runProcess(shop.options(sh(script), { timeout: 700, grace: 200 }))
    expect(result).toMatchObject({ exit: null, killed: 'SIGKILL', ended: 'timeout' })
    expect(await isAlive(await shop.pid('pid'))).toBe(false)
    expect(await isAlive(await shop.pid('child'))).toBe(false)
  })

  it('gives a program that tidies up on TERM the time to do so', async () => {
    const script = 'trap "echo tidy; exit 3" TERM; echo ready; while :; do sleep 0.05; done'
    const result = await runProcess(shop.options(sh(script), { timeout: 300, grace: 5_000 }))
    expect(result).toMatchObject({ exit: 3, killed: null, ended: 'timeout' })
    expect(shop.output()).toContain('tidy')
  })

  it('ends when told to', async () => {
    const controller = new AbortController()
    const run = runProcess(shop.options(sh('echo $$ > pid; sleep 60'), { signal: controller.signal }))
    const pid = await shop.pid('pid')
    controller.abort()
    expect(await run).toMatchObject({ ended: 'stopped', killed: 'SIGTERM' })
    expect(await isAlive(pid)).toBe(false)
  })

  it('does not even begin when told so before', async () => {
    const result = await runProcess(shop.options(sh('touch began'), { signal: AbortSignal.abort() }))
    expect(result).toMatchObject({ ended: 'stopped', exit: null })
    expect(existsSync(shop.at('began'))).toBe(false)
  })

  it('tells the time about every second', async () => {
    const ticks: { elapsed: number; quiet: number }[] = []
    await runProcess(shop.options(sh('sleep 0.3; echo x; sleep 1'), { onTick: now => ticks.push(now) }))
    expect(ticks.length).toBeGreaterThanOrEqual(1)
    expect(ticks[0]?.elapsed).toBeGreaterThanOrEqual(1000)
    expect(ticks[0]?.quiet).toBeLessThan(ticks[0]?.elapsed ?? 0)
  })
})

describe('what a program leaves behind', () => {
  it('H-30 returns at the exit though a child still holds stdout, and ends the child', async () => {
    const result = await runProcess(shop.options(sh('sleep 60 & echo $! > child; echo bye')))
    expect(result).toMatchObject({ exit: 0, ended: 'exit', leftovers: 1 })
    expect(shop.output()).toBe('bye\n')
    expect(await isAlive(await shop.pid('child'))).toBe(false)
  })

  it('H-30 ends a child in a session of its own', async () => {
    const result = await runProcess(
      shop.options(sh('setsid sh -c "echo \\$\\$ > child; exec sleep 60" & sleep 0.5')),
    )
    expect(result).toMatchObject({ exit: 0, leftovers: 1 })
    expect(await isAlive(await shop.pid('child'))).toBe(false)
  })

  it('H-30 ends a child that left the session and lost its parents', async () => {
    // The leader of the new session starts the daemon and is gone when the program ends; the daemon ignores TERM.
    writeFileSync(shop.at('daemon'), 'trap "" TERM\necho $$ > child\nexec sleep 60 >/dev/null 2>&1\n')
    writeFileSync(shop.at('leader'), 'sleep 0.3\nsh daemon &\n')
    const result = await runProcess(shop.options(sh('setsid sh leader & sleep 1'), { grace: 300 }))
    expect(result).toMatchObject({ exit: 0, leftovers: 1 })
    expect(await isAlive(await shop.pid('child'))).toBe(false)
  })

  it('lets children go that go by themselves', async () => {
    const result = await runProcess(shop.options(sh('sleep 0.03 & echo bye')))
    expect(result).toMatchObject({ exit: 0, leftovers: 0 })
  })

  it('H-30 reaches children outside the group on a timeout, too', async () => {
    const script =
      'setsid sh -c "trap \\"\\" TERM; echo \\$\\$ > child; while :; do sleep 1; done" & trap "" TERM; while :; do sleep 1; done'
    const result = await runProcess(shop.options(sh(script), { timeout: 1_000, grace: 200 }))
    expect(result.ended).toBe('timeout')
    expect(await isAlive(await shop.pid('child'))).toBe(false)
  })

  it('ends a program that stops itself and its leash', async () => {
    const result = await runProcess(shop.options(sh('kill -STOP 0; sleep 60'), { timeout: 300, grace: 100 }))
    expect(result).toMatchObject({ ended: 'timeout', killed: 'SIGKILL' })
  })

  it('leaves nothing of the leash behind', async () => {
    const run = runProcess(shop.options(sh('echo $$ > pid; sleep 0.3')))
    const session = await shop.pid('pid')
    await run
    await until(async () => !(await livingProcesses()).some(entry => entry.family === session), 2_000)
  })
})

describe('memory', () => {
  it.each([
    {
      what: '100 MB of lines',
      script: 'yes "a line of output as a program prints it, again and again" | head -c 100000000',
      bytes: 100_000_000,
    },
    { what: 'one line of 50 MB', script: 'head -c 50000000 /dev/zero | tr "\\0" x', bytes: 50_000_000 },
    {
      what: 'one line of 50 MB in letters of three bytes',
      script: 'yes € | tr -d "\\n" | head -c 49999998',
      bytes: 49_999_998,
    },
  ])('stays small with $what', async ({ script, bytes }) => {
    const engine = await startEngine(shop.options(sh(script)))
    const report = (await engine.report()) as { bytes: number; maxRSS: number; exit: number; longest: number }
    expect(report).toMatchObject({ exit: 0, bytes })
    expect(report.longest).toBeLessThanOrEqual(8 * 1024 * 1024)
    expect(report.maxRSS / 1024).toBeLessThan(120)
    expect(readFileSync(shop.at('output.log')).length).toBe(bytes)
  })

  it('stays small when the disk is slower than the program', async () => {
    // A pipe whose reader sleeps first stands for the disk. That the program waits for us is not its silence.
    const reader = spawn('sh', ['-c', 'mkfifo disk && exec <disk && sleep 1.5 && cat >copy'], {
      cwd: shop.folder,
      stdio: 'ignore',
    })
    const read = new Promise(resolve => reader.once('exit', resolve))
    await until(() => existsSync(shop.at('disk')))
    const script = 'yes "a line of output" | head -c 40000000'
    const engine = await startEngine(shop.options(sh(script), { outputFile: shop.at('disk'), idle: 700 }))
    const report = (await engine.report()) as { maxRSS: number }
    await read
    expect(report).toMatchObject({ exit: 0, ended: 'exit', bytes: 40_000_000 })
    expect(report.maxRSS / 1024).toBeLessThan(120)
    expect(readFileSync(shop.at('copy')).length).toBe(40_000_000)
  })
})
