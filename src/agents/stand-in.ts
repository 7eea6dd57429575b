import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A model for nobody: it waits for a text and refuses every call in the words of all the APIs at once. */
export type StandIn = {
  url: string
  /** When a call came that holds this text. */
  arrival(text: string): Promise<void>
  close(): Promise<void>
}

/** It can be reached from this machine only. */
export async function openStandIn(): Promise<StandIn> {
  const waiting = new Map<string, () => void>()
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    for (const [text, arrived] of waiting) if (body.includes(text)) arrived()
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify(refusal))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrival: text => new Promise(resolve => waiting.set(text, resolve)),
    close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      return closed
    },
  }
}

const message = 'This is `ralph doctor`: your call has arrived, and that is all there is to it.'
const refusal = {
  type: 'error',
  error: { type: 'invalid_request_error', message, code: 400, status: 'INVALID_ARGUMENT' },
}

/** No CLI sends more than this for a short prompt; what is longer is not kept. */
const longest = 8 * 1024 * 1024

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length <= longest) chunks.push(chunk)
    }
  } catch {
    // It went away in the middle of it.
  }
  return Buffer.concat(chunks).toString('utf8')
}
