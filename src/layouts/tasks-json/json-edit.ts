export type JsonPath = readonly (string | number)[]
export type JsonEdit = { path: JsonPath; value: string | number | boolean | null }

/**
 * Sets values in a JSON text and leaves every other byte as it is: indentation, order, escapes and line ends are the
 * user's. A property that is missing is added after the last one of its object. The text must be valid JSON.
 */
export function editJson(
  text: string,
  edits: readonly JsonEdit[],
  options: { ascii?: boolean } = {},
): string {
  const root = scan(text)
  const changes = edits.flatMap(({ path, value }) => change(text, root, path, encode(value, options.ascii)))
  return changes
    .sort((a, b) => b.start - a.start)
    .reduce((now, { start, end, text: piece }) => now.slice(0, start) + piece + now.slice(end), text)
}

/** Line of a place in the text, from 1; null when there is no such value. */
export function lineOf(text: string, path: JsonPath): number | null {
  const node = find(scan(text), path)
  return node ? text.slice(0, node.start).split('\n').length : null
}

type Node = { start: number; end: number; members: Map<string | number, Member> }
type Member = { node: Node; keyStart: number }
type Change = { start: number; end: number; text: string }

function change(text: string, root: Node, path: JsonPath, piece: string): Change[] {
  const found = find(root, path)
  if (found) return [{ start: found.start, end: found.end, text: piece }]
  const parent = find(root, path.slice(0, -1))
  const last = parent && [...parent.members.values()].reduce<Member | null>(later, null)
  if (!last) return []
  // As far from the comma as the last property stands from what is before it.
  const space = /[\s]*$/u.exec(text.slice(0, last.keyStart))?.[0] ?? ''
  const colon = /^"(?:\\.|[^"\\])*"(\s*:\s*)/u.exec(text.slice(last.keyStart))?.[1] ?? ': '
  const added = `,${space}${JSON.stringify(path.at(-1))}${colon}${piece}`
  return [{ start: last.node.end, end: last.node.end, text: added }]
}

function later(a: Member | null, b: Member): Member {
  return a && a.keyStart > b.keyStart ? a : b
}

function find(root: Node, path: JsonPath): Node | null {
  let node: Node | undefined = root
  for (const key of path) node = node?.members.get(key)?.node
  return node ?? null
}

function encode(value: JsonEdit['value'], ascii = false): string {
  const text = JSON.stringify(value)
  return ascii
    ? Array.from({ length: text.length }, (_, at) => asciiUnit(text.charCodeAt(at))).join('')
    : text
}

function asciiUnit(code: number): string {
  return code < 0x80 ? String.fromCharCode(code) : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Where each value stands. Of a key that is there twice the last one counts, as it does for JSON.parse. */
function scan(text: string): Node {
  let at = text.startsWith('\ufeff') ? 1 : 0
  const skip = () => {
    while (at < text.length && ' \t\r\n'.includes(text[at] ?? '')) at++
  }
  const string = () => {
    for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    at++
  }
  const value = (): Node => {
    skip()
    const start = at
    const members = new Map<string | number, Member>()
    const open = text[at]
    if (open === '{' || open === '[') {
      at++
      skip()
      for (let index = 0; at < text.length && text[at] !== '}' && text[at] !== ']'; index++) {
        const keyStart = at
        let key: string | number = index
        if (open === '{') {
          string()
          key = String(JSON.parse(text.slice(keyStart, at)))
          skip()
          at++
        }
        members.set(key, { node: value(), keyStart })
        skip()
        if (text[at] === ',') at++
        skip()
      }
      at++
    } else if (open === '"') string()
    else while (at < text.length && !/[\s,\]}]/u.test(text[at] ?? '')) at++
    return { start, end: at, members }
  }
  return value()
}
