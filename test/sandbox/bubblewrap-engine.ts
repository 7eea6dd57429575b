import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProcess } from '../../src/process/run-process.ts'
import { bubblewrap } from '../../src/sandbox/bubblewrap.ts'

/** A small engine of its own, to be run as another user or to be killed: root · script. */
const [root = '', script = ''] = process.argv.slice(2)
const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
const sandbox = bubblewrap()
const probe = await sandbox.probe({ root, agents: [], worktrees: false, env })
const box = await sandbox.open({
  ...{ root, home: join(root, '.ralph'), agents: [], hosts: [], reads: [], writes: [], copies: [] },
  ...{ identity: { name: 'A', email: 'a@example.invalid' }, env, cutOff: false, refused: () => undefined },
})
const entered = await box.enter({
  ...{ argv: ['sh', '-c', script], cwd: root, env, agent: null, stdin: null, reads: [], readOnly: false },
})
const outputFile = join(root, '.ralph', 'output')
const result = await runProcess({
  ...{ argv: entered.argv, cwd: root, env: entered.env, stdin: { type: 'none' } },
  ...{
    outputFile,
    processFile: join(root, '.ralph', 'processes'),
    timeout: 30_000,
    idle: 0,
    grace: 1_000,
    leash: 5_000,
  },
  signal: new AbortController().signal,
})
await box.close()
process.stdout.write(JSON.stringify({ probe, exit: result.exit, output: readFileSync(outputFile, 'utf8') }))
