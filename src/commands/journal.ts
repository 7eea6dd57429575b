import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { UserError } from '../core/errors.ts'
import { plural } from '../core/text.ts'
import { openOrRefuse, withStore } from './look.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { terminal } from './terminal.ts'

export type JournalOptions = ProjectOption & { action: string; file?: string }

/** `ralph journal export|import`: the journal as JSON lines. */
export async function journal(options: JournalOptions): Promise<void> {
  const root = projectRoot(options)
  switch (options.action) {
    case 'export':
      return exportTo(root, options.file)
    case 'import':
      return importFrom(root, options.file)
    default:
      throw new UserError(`unknown action '${options.action}'`, 'Choose export or import.', 2)
  }
}

async function exportTo(root: string, file: string | undefined): Promise<void> {
  if (file !== undefined && existsSync(file))
    throw new UserError(`${file} exists already`, 'Give the name of a new file.')
  const screen = terminal()
  await withStore(await openOrRefuse(root), async ({ log }) => {
    const { exportJournal } = await import('../store/export.ts')
    const out = file === undefined ? process.stdout : createWriteStream(file, { flags: 'wx' })
    const written = await exportJournal(log, async text => {
      if (!out.write(text)) await once(out, 'drain')
    })
    if (out === process.stdout) return
    out.end()
    await finished(out)
    screen.err(`${plural(written, 'event')} written to ${file}\n`)
  })
}

async function importFrom(root: string, file: string | undefined): Promise<void> {
  if (file !== undefined && !existsSync(file))
    throw new UserError(`there is no file ${file}`, 'Name what `ralph journal export` wrote.')
  const [{ importJournal }, { openProjectStore }] = await Promise.all([
    import('../store/export.ts'),
    import('../engine/home.ts'),
  ])
  const input = file === undefined ? process.stdin : createReadStream(file)
  await withStore(await openProjectStore(root), async ({ log }) => {
    const read = await importJournal(createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }), log)
    terminal().out(`${plural(read, 'event')} read\n  → ralph status\n`)
  })
}
