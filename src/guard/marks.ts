/**
 * Text that is only partly known is a plain string in which single characters of the private use area stand for what is
 * not known. Everything that works on strings goes on working, and nothing is forgotten on the way.
 */

/** Output of a program, content of a file: may be anything. */
export const hole = '\uE000'
/** A glob that is at work: any text, and any one character. */
export const star = '\uE001'
export const any = '\uE002'
/** The value of something that holds a secret. */
export const secret = '\uE003'
/** What came from the network. */
export const net = '\uE004'
/** A number, a date, an id: not empty, no slash, no blank. */
export const name = '\uE005'
/** Paths of files below the current folder, as `git ls-files` prints them. */
export const file = '\uE006'
/** A variable of the environment that the command itself did not set. */
export const env = '\uE007'

const marks = /[\uE000-\uE007]/gu
const unknown = /[\uE000\uE003\uE004\uE007]/u

/** Some of it may be anything. */
export function isUnknown(text: string): boolean {
  return unknown.test(text)
}

/** Every character of it is known. */
export function isPlain(text: string): boolean {
  return text.search(marks) === -1
}

/** A user's own characters of that area must not be taken for ours. */
export function withoutMarks(text: string): string {
  return text.replace(marks, '\uFFFD')
}

/** For people. */
export function show(text: string): string {
  const shown = text.replace(marks, mark => (mark === star ? '*' : mark === any ? '?' : '…'))
  return shown.length > 160 ? `${shown.slice(0, 160)}…` : shown
}

/** Quotes gone, blanks and globs of an unquoted expansion come to life. */
export function globbed(text: string): string {
  return text.replace(/\*+/gu, star).replace(/\?|\[[^\]]+\]/gu, any)
}

/** What stays of unknown text after a program has worked on it. */
export function taint(...texts: (string | null)[]): string {
  const all = texts.join('')
  if (all.includes(secret)) return secret
  return all.includes(net) ? net : hole
}
