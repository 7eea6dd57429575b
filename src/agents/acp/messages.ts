import type { Readable, Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { createLines } from '../../process/lines.ts'
import { asRecord, type JsonRecord, parseRecord } from '../json.ts'

/** A longer line is no message. */
const longestLine = 32 * 1024 * 1024

export type Listener = {
  /**
   * A `session/update`, in order. The SDK does not see it: it checks each against its schema and drops those that are
   * newer than the schema, or not quite right, and with them what the agent said.
   */
  onUpdate: (update: JsonRecord) => void
  /** A line that is no message. The SDK would answer it, and block for ever on an agent that does not read meanwhile. */
  onStray: (line: string) => void
}

/** The messages of an agent on its stdin and stdout. */
export function messageStream(stdin: Writable, stdout: Readable, listener: Listener): Stream {
  return { writable: writing(stdin), readable: reading(stdout, listener) }
}

function reading(stdout: Readable, { onUpdate, onStray }: Listener): ReadableStream<AnyMessage> {
  const decoder = new StringDecoder('utf8')
  const chunks = stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const found: AnyMessage[] = []
  const lines = createLines(longestLine, line => {
    const message = parseRecord(line)
    if (message?.method === 'session/update') onUpdate(asRecord(asRecord(message.params)?.update) ?? {})
    else if (message?.jsonrpc === '2.0') found.push(message as AnyMessage)
    else if (line.trim() !== '') onStray(line)
  })
  return new ReadableStream<AnyMessage>({
    // Asked only when there is room: an agent is read no faster than its messages are handled.
    async pull(controller) {
      while (found.length === 0) {
        const { value, done } = await chunks.next()
        if (done) {
          lines.text(decoder.end())
          lines.end()
          for (const message of found.splice(0)) controller.enqueue(message)
          controller.close()
          return
        }
        lines.text(decoder.write(value))
      }
      for (const message of found.splice(0)) controller.enqueue(message)
    },
  })
}

function writing(stdin: Writable): WritableStream<AnyMessage> {
  return new WritableStream<AnyMessage>({
    write: message =>
      new Promise((resolve, reject) => {
        stdin.write(`${JSON.stringify(message)}\n`, error => (error ? reject(error) : resolve()))
      }),
  })
}
