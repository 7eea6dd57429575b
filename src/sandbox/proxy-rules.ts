import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { UserError } from '../core/errors.ts'
import { addressKind } from './proxy-address.ts'

/** One entry of the list of allowed hosts. */
export type HostRule = {
  /** Without a star: a name, an address, or empty for any host at all. */
  host: string
  /** All below the host, not the host itself. */
  below: boolean
  /** null: 80 and 443. */
  port: number | null
}

const usualPorts = [80, 443]

/** `example.com`, `*.example.com`, `*`, `localhost:5432`, `10.0.0.7:8080`, `[::1]:8080`. */
export function readRules(hosts: readonly string[]): HostRule[] {
  return hosts.map(text => {
    const [, stars, literal, name, port] =
      /^(\*\.)?(?:\[([0-9a-f:.]+)\]|([^:/\s[\]]+))(?::(\d{1,5}))?$/i.exec(text.trim()) ?? []
    const host = literal === undefined ? plainHost(name ?? '') : plainHost(`[${literal}]`)
    const rule = { below: stars !== undefined, port: port === undefined ? null : Number(port) }
    if (name === '*' && !rule.below) return { ...rule, host: '', below: true }
    if (host === null || (rule.port !== null && (rule.port < 1 || rule.port > 65535))) throw badRule(text)
    if (isHere(host) && rule.port === null) throw needsPort(text)
    return { ...rule, host }
  })
}

/** The rule that allows it; one that names the host before one that only covers it. */
export function ruleFor(rules: readonly HostRule[], host: string, port: number): HostRule | null {
  const fits = rules.filter(
    rule => (rule.port === null ? usualPorts.includes(port) : rule.port === port) && covers(rule, host),
  )
  const named = fits.filter(rule => !rule.below)
  return named.find(rule => rule.port !== null) ?? named[0] ?? fits[0] ?? null
}

/** This machine and bare addresses are never meant by a star. */
function covers({ host: allowed, below }: HostRule, host: string): boolean {
  if (!below) return allowed === host || (isHere(allowed) && isHere(host))
  return !isHere(host) && isIP(host) === 0 && (allowed === '' || host.endsWith(`.${allowed}`))
}

/**
 * Whether the way may lead to this address. A name says nothing about where it leads: who owns it could point it at this
 * machine, at the local network or at the service that hands out a cloud machine's keys.
 */
export function mayReach(rule: HostRule, address: string): boolean {
  const kind = addressKind(address)
  if (kind === 'public') return true
  if (rule.below) return false
  if (isIP(rule.host) !== 0) return true
  if (kind === 'private') return true
  return kind === 'loopback' && rule.port !== null
}

/** Ports of this machine that are to be found at the same port inside. */
export function portsHere(rules: readonly HostRule[]): number[] {
  return [
    ...new Set(
      rules.flatMap(({ host, below, port }) => (!below && isHere(host) && port !== null ? [port] : [])),
    ),
  ]
}

export function isHere(host: string): boolean {
  return host === 'localhost' || host === '127.0.0.1' || host === '::1'
}

/** As it is compared: small letters, no dot at the end, no brackets; null for what cannot be a host. */
export function plainHost(text: string): string | null {
  const literal = /^\[([0-9a-f:.]+)\]$/i.exec(text)?.[1]
  if (literal !== undefined) return isIP(literal) === 6 ? shortest(literal) : null
  if (isIP(text) === 4) return text
  const name = domainToASCII(text.replace(/\.$/, '')).toLowerCase()
  if (name.length > 253) return null
  return /^[a-z0-9_](?:[a-z0-9_-]{0,62})?(?:\.[a-z0-9_][a-z0-9_-]{0,62})*$/.test(name) ? name : null
}

/** One address has many spellings. */
function shortest(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}

function badRule(text: string): UserError {
  return new UserError(
    `sandbox: '${text}' is not a host that could be allowed`,
    'Write example.com, *.example.com, example.com:8443 or localhost:5432.',
    2,
  )
}

function needsPort(text: string): UserError {
  return new UserError(
    `sandbox: '${text}' is this machine, where everything listens`,
    `Name the port, as in ${text}:5432.`,
    2,
  )
}
