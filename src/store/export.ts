import { errorText, UserError } from '../core/errors.ts'
import type { Append, Log } from './log.ts'
import { entryOf, type Folds, foldEvent, newFolds, upgradeEvent } from './replay.ts'

const format = 1

/** Writes the journal as JSON Lines: a header, then one event per line in the order they were written. Returns their number. */
export async function exportJournal(
  log: Log,
  write: (text: string) => void | Promise<void>,
): Promise<number> {
  let count = 0
  await write(`${JSON.stringify({ ralph: 'journal', version: format })}\n`)
  for await (const { stream, seq, event } of log.events()) {
    await write(`${JSON.stringify({ stream, seq, event })}\n`)
    count += 1
  }
  return count
}

/** Reads what `exportJournal` wrote into an empty journal, all or nothing. The folds are made anew. Returns the number of events. */
export async function importJournal(
  lines: Iterable<string> | AsyncIterable<string>,
  log: Log,
): Promise<number> {
  for await (const _ of log.events({ limit: 1 })) {
    throw new UserError(
      'this journal already has events',
      'Import into a new project, or move .ralph away first.',
    )
  }
  const folds = newFolds()
  const entries: Append[] = []
  let number = 0
  for await (const line of lines) {
    number += 1
    if (line.trim() === '') continue
    try {
      if (number === 1) checkHeader(JSON.parse(line))
      else entries.push(readLine(JSON.parse(line), folds))
    } catch (error) {
      if (error instanceof UserError) throw error
      throw new UserError(
        `line ${number} is not part of a journal: ${errorText(error)}`,
        'Export it again; nothing was imported.',
      )
    }
  }
  if (number === 0)
    throw new UserError('there is nothing to import', "Give a file that 'ralph journal export' wrote.")
  await log.append(entries)
  return entries.length
}

function checkHeader(header: unknown): void {
  const { ralph, version } = (header ?? {}) as { ralph?: unknown; version?: unknown }
  if (ralph !== 'journal' || typeof version !== 'number') throw new Error('the header is missing')
  if (version > format)
    throw new UserError(`the export has version ${version}; this Ralph knows ${format}`, 'Upgrade Ralph.')
}

function readLine(line: unknown, folds: Folds): Append {
  const { stream, seq, event: raw } = (line ?? {}) as { stream?: unknown; seq?: unknown; event?: unknown }
  if (typeof stream !== 'string' || typeof seq !== 'number') throw new Error('stream or seq is missing')
  const event = upgradeEvent(raw)
  return entryOf({ stream, seq, event }, foldEvent(folds, stream, event))
}
