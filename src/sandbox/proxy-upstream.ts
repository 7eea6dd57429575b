import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** The proxy that this machine itself needs to get out. */
export type Upstream = {
  host: string
  port: number
  /** The way to the proxy itself is encrypted. */
  encrypted: boolean
  /** The whole header value, or null. */
  authorization: string | null
}

/** Which proxy the environment names for this way, if any. Others than http ones are not known here. */
export function upstreamFor(
  env: Readonly<Record<string, string | undefined>>,
  target: { encrypted: boolean; host: string; port: number },
): Upstream | null {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || ''
  const named = read(target.encrypted ? 'HTTPS_PROXY' : 'HTTP_PROXY') || read('ALL_PROXY')
  if (named === '' || isExcepted(read('NO_PROXY'), target)) return null
  const text = /^[a-z0-9+.-]+:\/\//i.test(named) ? named : `http://${named}`
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  const encrypted = url.protocol === 'https:'
  const user = decodeURIComponent(url.username)
  const secret = `${user}:${decodeURIComponent(url.password)}`
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (encrypted ? 443 : 80),
    encrypted,
    authorization: user === '' ? null : `Basic ${Buffer.from(secret).toString('base64')}`,
  }
}

export function connectUpstream({ host, port, encrypted }: Upstream): Socket {
  if (!encrypted) return connect({ host, port, allowHalfOpen: true })
  return connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}) })
}

/** `example.com` and `.example.com` stand for the host and all below it, with or without a port; `*` for all. */
function isExcepted(exceptions: string, { host, port }: { host: string; port: number }): boolean {
  return exceptions.split(/[\s,]+/).some(entry => {
    if (entry === '*') return true
    const [, name = '', only] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
    if (name === '' || (only !== undefined && Number(only) !== port)) return false
    return host === name || host.endsWith(`.${name}`)
  })
}
