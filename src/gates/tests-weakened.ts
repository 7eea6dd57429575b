import { matchesAny } from '../core/glob.ts'
import { isTestFile, skippedTests } from '../core/integrity.ts'
import type { ChangedFile, Violation } from '../core/outcome.ts'
import { plural } from '../core/text.ts'
import type { TreeReader } from './tree.ts'

/**
 * How an attempt made the tests weaker, by reading the files: deleted, emptied or cut test files, tests switched off.
 * Tests that moved to another file are not lost, so what all changed test files hold together is what counts.
 */
export async function weakenedTests(options: {
  before: TreeReader
  after: TreeReader
  changed: ChangedFile[]
  allows: string[]
}): Promise<Violation[]> {
  const files: TestFile[] = []
  for (const { path, how } of options.changed) {
    if (!isTestFile(path) || matchesAny(path, options.allows)) continue
    const old = how === 'added' ? null : await options.before.read(path)
    const now = how === 'deleted' ? null : await options.after.read(path)
    files.push({ path, how, old: old ?? '', now: now ?? '' })
  }
  const kept = new Set(files.flatMap(file => testCases(file.path, file.now)))
  const texts = new Set(files.filter(file => file.how !== 'deleted').map(file => file.now))
  const known = countLines(files.flatMap(file => lines(file.old)))
  return files.flatMap(file => [
    ...(texts.has(file.old) ? [] : lostTests(file, kept)),
    ...skippedTests(file.path, takeAdded(file.now, known)),
  ])
}

type TestFile = { path: string; how: ChangedFile['how']; old: string; now: string }

function lostTests({ path, how, old, now }: TestFile, kept: Set<string>): Violation[] {
  const had = testCases(path, old)
  const has = testCases(path, now)
  const moved = had.filter(line => kept.has(line)).length
  const lost = (detail: string): Violation[] => [{ rule: 'tests-deleted', path, detail }]
  if (how === 'deleted') {
    // A helper beside the tests is not a test.
    if (had.length === 0 && !isNamedTest(path)) return []
    return had.length > 0 && moved === had.length ? [] : lost(`Deleted the test file ${path}`)
  }
  if (how === 'added') return []
  if (hasCode(path, old) && !hasCode(path, now))
    return had.length > 0 && moved === had.length ? [] : lost(`Emptied the test file ${path}`)
  // A table of cases may take the place of many; how many tests that makes only the runner knows.
  if (tables(now) > tables(old) && has.length > 0) return []
  const left = Math.max(has.length, moved)
  return had.length > 0 && left < had.length / 2
    ? lost(`Cut ${path} from ${plural(had.length, 'test')} to ${has.length}`)
    : []
}

/** By its name alone, not only by the folder it lies in. */
function isNamedTest(path: string): boolean {
  return isTestFile(path.slice(path.lastIndexOf('/') + 1))
}

/** The lines that open a test, with its title; a mark such as `@Test` with the line of the function it stands before. */
export function testCases(path: string, text: string): string[] {
  const opening = openings.find(one => one.files.test(path))
  if (!opening) return []
  const all = lines(text).map(line => line.trim())
  return all.flatMap((line, at) => {
    const found = opening.line.exec(line)?.[0]
    if (found === undefined) return []
    const titled = marks.test(found)
      ? `${found} ${all.slice(at + 1, at + 6).find(next => !/^[@#[<]/u.test(next)) ?? ''}`
      : found
    return [titled.replace(/\s+/gu, ' ')]
  })
}

const marks = /^(?:@|#\[|\[|<)/u

const openings: readonly { files: RegExp; line: RegExp }[] = [
  {
    files: /\.[cm]?[jt]sx?$/u,
    line: /(?<![.\w])(?:it|test|specify|Deno\.test)(?:\.\w+)*\s*(?:\(|`)\s*(?:(['"`])(?:\\.|(?!\1).)*|[^,)]*)/u,
  },
  { files: /\.py$/u, line: /^(?:async )?def test\w*/u },
  { files: /\.go$/u, line: /^func (?:Test|Fuzz|Example)\w*|\bt\.Run\([^,]*/u },
  { files: /\.rs$/u, line: /^#\[(?:\w+::)*(?:test|rstest|test_case|case)\b.*/u },
  {
    files: /\.(?:java|kts?|groovy|scala)$/u,
    line: /^@(?:Test|ParameterizedTest|RepeatedTest|Property)\b.*|^(?:test|it|should)\s*\(.*|^def ['"].*/u,
  },
  { files: /\.rb$/u, line: /^(?:it|specify|example|scenario|test)\b.*|^def test_\w+/u },
  { files: /\.php$/u, line: /function test\w*|^#\[Test\b.*|^(?:it|test)\s*\(.*/u },
  { files: /\.(?:cs|fs|vb)$/u, line: /^[[<](?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b.*/u },
  { files: /\.exs?$/u, line: /^(?:test|property|doctest)\b.*/u },
  { files: /\.swift$/u, line: /func test\w*|^@Test\b.*/u },
  { files: /\.bats$/u, line: /^@test\b.*/u },
  { files: /\.dart$/u, line: /^(?:test|testWidgets)\s*\(.*/u },
  { files: /\.(?:c|cc|cpp|cxx)$/u, line: /^(?:TEST(?:_F|_P|_CASE)?|SCENARIO)\s*\(.*/u },
  { files: /\.feature$/u, line: /^Scenario(?: Outline)?:.*/u },
]

function tables(text: string): number {
  return (
    text.match(
      /\.each\b|\bparametrize\b|@ParameterizedTest|@MethodSource|\[Theory|\brstest\b|for\s*\(?.*\b(?:of|in|range)\b|\.forEach\(/gu,
    )?.length ?? 0
  )
}

function hasCode(path: string, text: string): boolean {
  const comment = /\.(?:py|rb|exs?|sh|bats|pl|t)$/u.test(path) ? /^#/u : /^(?:\/\/|\/?\*)/u
  return lines(text).some(
    line => !comment.test(line.trim()) && !/^(?:export \{\};?|pass|package \w+;?|<\?php)$/u.test(line.trim()),
  )
}

function lines(text: string): string[] {
  return text.split('\n').filter(line => line.trim() !== '')
}

function countLines(all: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of all) counts.set(line.trim(), (counts.get(line.trim()) ?? 0) + 1)
  return counts
}

/** The lines that were in none of the changed test files before; a line that moved is used up once. */
function takeAdded(text: string, known: Map<string, number>): string[] {
  return lines(text).filter(line => {
    const left = known.get(line.trim()) ?? 0
    if (left === 0) return true
    known.set(line.trim(), left - 1)
    return false
  })
}
