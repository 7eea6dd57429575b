import { readFileSync } from 'node:fs'
import path from 'node:path'

type Env = Record<string, string | undefined>

/** A path below the user's home. */
export function atHome(env: Env, ...parts: string[]): string {
  return path.join(env.HOME ?? '/', ...parts)
}

/** Settings are never brought back: an agent could write orders for the next one into them. */
export function copied(folder: string, names: readonly string[]): { path: string; back: false }[] {
  return names.map(name => ({ path: path.join(folder, name), back: false }))
}

/** The hosts of those variables that hold an address. */
export function addressed(env: Env, names: readonly string[]): string[] {
  return names.flatMap(name => hostOf(env[name] ?? ''))
}

/** The host of a URL, with its port where it has one. This machine is always named with a port: 80 is not all of it. */
export function hostOf(address: string): string[] {
  if (!/^[a-z]+:\/\//iu.test(address) || !URL.canParse(address)) return []
  const { hostname, port, protocol } = new URL(address)
  if (hostname === '') return []
  const here = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
  const implied = protocol === 'https:' || protocol === 'wss:' ? '443' : '80'
  return [port || here ? `${hostname}:${port || implied}` : hostname]
}

/** Addresses in a settings file, after a key of this name. Whatever the file's format is. */
export function addressesIn(text: string, key: RegExp): string[] {
  const found = text.matchAll(new RegExp(`["']?(?:${key.source})["']?\\s*[:=]\\s*["']([^"'\\s]+)["']`, 'gu'))
  return [...found].flatMap(([, address = '']) => hostOf(address))
}

/** Settings that are not there, or not ours to read, name no hosts. */
export function settingsText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Where Google's libraries look for the login of a program. */
export function googleCredentials(env: Env): { path: string; back: false } {
  const usual = atHome(env, '.config/gcloud/application_default_credentials.json')
  return { path: env.GOOGLE_APPLICATION_CREDENTIALS || usual, back: false }
}
