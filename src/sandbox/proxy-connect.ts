import { connect, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { connectUpstream, type Upstream } from './proxy-upstream.ts'

export type Target = { host: string; port: number; encrypted: boolean }

/** By one of these addresses, which were looked at, or by another proxy that looks itself. */
export type Way = { addresses: string[]; upstream: null } | { addresses: null; upstream: Upstream }

const connectTime = 20_000
const mostHeaders = 32 * 1024

/** A connection whose bytes go to the target and nowhere else. */
export async function reach(way: Way, target: Target): Promise<Socket> {
  if (!way.upstream) return connectTo(way.addresses, target.port)
  const socket = await connected(connectUpstream(way.upstream))
  const name = nameOf(target)
  const { authorization } = way.upstream
  const secret = authorization ? `Proxy-Authorization: ${authorization}\r\n` : ''
  socket.write(`CONNECT ${name} HTTP/1.1\r\nHost: ${name}\r\n${secret}\r\n`)
  const head = await headOf(socket)
  if (/^HTTP\/1\.[01] 2\d\d/.test(head)) return socket
  socket.destroy()
  throw new Error(`the proxy of this machine says: ${head.split('\r\n')[0]?.slice(0, 200) || 'nothing'}`)
}

/** Reads what a proxy answers up to the empty line; what follows stays in the socket. */
function headOf(socket: Socket): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    const timer = setTimeout(() => socket.destroy(), connectTime)
    const look = () => {
      for (let chunk = socket.read(1); chunk !== null; chunk = socket.read(1)) {
        text += (chunk as Buffer).toString('latin1')
        if (text.endsWith('\r\n\r\n') || text.length > mostHeaders) return done()
      }
    }
    const done = () => {
      clearTimeout(timer)
      socket.off('readable', look).off('close', done).off('end', done)
      resolve(text)
    }
    socket.on('readable', look).on('close', done).on('end', done)
  })
}

/** One address after the other. */
export async function connectTo(addresses: readonly string[], port: number): Promise<Socket> {
  let failure: unknown
  for (const host of addresses.slice(0, 4)) {
    try {
      return await connected(connect({ host, port, allowHalfOpen: true, noDelay: true }))
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

export function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    socket.setTimeout(connectTime, () => fail(new Error('it does not answer')))
    socket.once('error', fail)
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
      socket.setTimeout(0).removeAllListeners('timeout')
      socket.off('error', fail).on('error', () => socket.destroy())
      resolve(socket)
    })
  })
}

/** Both directions, each at the pace of who reads; one may end before the other, and what was sent still arrives. */
export function join(a: Duplex, b: Duplex): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.pipe(to)
    from.once('close', () => {
      if (!from.readableEnded || to.writableFinished) to.destroy()
      else to.once('finish', () => to.destroy())
    })
  }
}

/** `host:port`, as it is written where addresses have colons too. */
export function nameOf({ host, port }: Pick<Target, 'host' | 'port'>): string {
  return `${bracketed(host)}:${port}`
}

export function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}
