// How much CPU the reader of each agent takes, for lines as short as those of a stream of words: the dear case.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const lineBytes = 330
const megabytes = 2

/** A piece of text as each agent prints it. */
const dialects = {
  acp: text => ({ type: 'text', message: 1, text }),
  claude: text => ({
    type: 'assistant',
    message: { id: 'msg_1', model: 'm', role: 'assistant', content: [{ type: 'text', text }] },
    session_id: 's',
  }),
  codex: text => ({ type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text } }),
  copilot: text => ({ type: 'assistant.message', data: { messageId: 'm', content: text }, id: 'i' }),
  gemini: text => ({ type: 'message', timestamp: 't', role: 'assistant', content: text, delta: true }),
  opencode: text => ({ type: 'text', timestamp: 1, sessionID: 's', part: { id: 'p', type: 'text', text } }),
  command: text => text,
}

/** Milliseconds of CPU per MB, by agent; and how much of it any reader would take. */
export async function readerCosts() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ralph-bench-readers-'))
  try {
    const readers = await build(folder)
    return Object.entries(dialects).map(([name, say]) => ({
      name,
      cost: costOf(readers[name], say),
      bare: costOf(typeof say('') === 'string' ? idle : parser, say),
    }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const idle = () => ({ line: () => [], end: () => undefined })
const parser = () => ({ line: line => JSON.parse(line), end: () => undefined })

/** The best of many short rounds: what else the machine does only adds to it. */
function costOf(reader, say) {
  const lines = Array.from({ length: 500 }, (_, index) => lineOf(say, index))
  const rounds = Array.from({ length: 30 }, () => {
    const one = reader()
    const from = process.cpuUsage()
    let bytes = 0
    while (bytes < megabytes * 1e6) {
      for (const line of lines) {
        one.line(line, 'stdout')
        bytes += line.length
      }
    }
    one.end({ code: 0, killed: null })
    const { user, system } = process.cpuUsage(from)
    return (user + system) / 1000 / (bytes / 1e6)
  })
  return Math.min(...rounds)
}

function lineOf(say, index) {
  const print = text => (typeof say('') === 'string' ? text : JSON.stringify(say(text)))
  const words = `${index} The quick brown fox says "hello"\\n and jumps over the lazy dog. `.repeat(10)
  return print(words.slice(0, Math.max(1, lineBytes - print('').length - 20)))
}

/** Node 20 reads no TypeScript. */
async function build(folder) {
  const source = name => fileURLToPath(new URL(`../src/agents/${name}`, import.meta.url))
  const files = Object.fromEntries(
    Object.keys(dialects).map(name => [name, source(names[name] ?? `${name}-reader.ts`)]),
  )
  const bundle = await rolldown({ input: files, platform: 'node' })
  await bundle.write({ dir: folder, format: 'es', entryFileNames: '[name].mjs' })
  await bundle.close()
  const loaded = {}
  for (const name of Object.keys(dialects)) {
    const all = await import(pathToFileURL(path.join(folder, `${name}.mjs`)).href)
    loaded[name] = Object.values(all).find(value => typeof value === 'function')
  }
  return loaded
}

const names = { acp: 'acp/reader.ts', command: 'plain-reader.ts' }
