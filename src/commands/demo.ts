import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { demoFiles } from './demo/project.ts'
import { evidence } from './evidence.ts'
import { run } from './run.ts'
import { terminal } from './terminal.ts'

/** `ralph demo`: no key, no network, a few seconds. The newcomer sees each attempt judged and the evidence at the end. */
export async function demo(): Promise<void> {
  const { out, style } = terminal()
  const root = createProject()
  out(`${style.bold('Ralph demo')}: a small shop with tests, two stories, and an agent that lies first.\n`)
  out(`${style.dim(`The project: ${root}`)}\n`)
  out(
    'Watch: story 1.1, try 1 claims “done” and did nothing. Story 1.2, try 1 breaks a test. Neither is believed.\n\n',
  )
  await run({ projectDir: root, once: false, agentArgs: [] })
  if (process.exitCode !== 0)
    throw new UserError('the demo did not end as it should', `Look into ${root}/ralph.log.`)
  out(`\n${style.bold('The evidence Ralph collected itself')}\n\n`)
  await evidence({ projectDir: root })
  out(
    [
      '',
      style.bold('Where things are'),
      `  ${root}`,
      '  specs/           the stories; their status is now “done”',
      '  progress.txt     one line per result, for people',
      '  .ralph/          the journal; .ralph/runs/ holds prompt, output and diff of every step',
      '',
      style.bold('What to type next'),
      `  cd ${root}`,
      '  git log --oneline      only what the agent changed was committed',
      '  ralph show 2           what it was told, what it said, what came of it',
      '  ralph verify --all     prove it again',
      '',
      '  cd your-project && ralph init && ralph run',
      '',
    ].join('\n'),
  )
}

function createProject(): string {
  const root = mkdtempSync(join(tmpdir(), 'ralph-demo-'))
  for (const [path, text] of Object.entries(demoFiles)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'ignore' })
  try {
    git('init', '-q', '-b', 'main')
    git('config', 'user.name', 'Ralph demo')
    git('config', 'user.email', 'demo@localhost')
    git('add', '-A')
    git('commit', '-q', '-m', 'A corner shop')
  } catch {
    throw new UserError('git is needed for the demo', 'Install git and try again.')
  }
  return root
}
