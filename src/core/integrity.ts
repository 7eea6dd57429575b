import { matchesAny } from './glob.ts'
import type { ChangedFile, Violation } from './outcome.ts'

/** The rules on what an agent may change. Facts come in as lists; the verdict is a list of violations. */
export type IntegrityRules = {
  /** Globs no agent may change: specs, state files, configuration, hooks. */
  protect: string[]
  /** Files that define the gates: scripts a verify command names, the runner's configuration. */
  gateFiles: string[]
  /** Globs the task's own spec allows in spite of the two above. */
  allows: string[]
  /** A reviewer may change nothing at all. */
  readOnly: boolean
}

export function fileViolations(files: ChangedFile[], rules: IntegrityRules): Violation[] {
  return files.flatMap(file => fileViolation(file, rules) ?? [])
}

function fileViolation(file: ChangedFile, rules: IntegrityRules): Violation | null {
  const { path } = file
  const did = verbOf(file)
  // What a task allows its implementer it does not allow its reviewer.
  const allowed = !rules.readOnly && matchesAny(path, rules.allows)
  if (allowed) return null
  if (matchesAny(path, rules.protect))
    return { rule: 'protected-file', path, detail: `${did} the protected file ${path}` }
  if (rules.gateFiles.includes(path)) {
    return { rule: 'gate-definition', path, detail: `${did} ${path}, which defines how the work is checked` }
  }
  if (rules.readOnly)
    return { rule: 'read-only', path, detail: `${did} ${path}, but a reviewer may not edit` }
  return null
}

export function verbOf(file: ChangedFile): string {
  return { added: 'Added', modified: 'Changed', deleted: 'Deleted' }[file.how]
}

const code =
  '(?:[cm]?[jt]sx?|py|rb|go|rs|java|kts?|scala|groovy|php|cs|fs|vb|swift|exs?|clj[cs]?|lua|pl|t|sh|bats|dart|c|cc|cpp|cxx|m|hs|ml|r|jl|zig|feature)'

/** By folder (`test/`, `spec/` …), by name (`a.test.ts`, `test_a.py`, `a_test.go`, `a_spec.rb`, `ATest.java`). Code only: data beside it are no tests. */
const testFile = new RegExp(
  [
    `(?:^|/)(?:tests?|__tests__|specs?|e2e|t)/.*\\.${code}$`,
    `(?:^|/)(?:test_[^/]+|tests?)\\.py$`,
    `[._-](?:test|spec|cy)s?\\.${code}$`,
    `(?:Tests?|Spec|IT|TestCase)\\.(?:java|kts?|scala|groovy|php|cs|fs|vb|swift)$`,
  ].join('|'),
  'u',
)

export function isTestFile(path: string): boolean {
  return testFile.test(path)
}

/** `added`: the lines an attempt added to a file, without the diff's own marks. */
export function skippedTests(path: string, added: string[]): Violation[] {
  const marks = isTestFile(path) ? skipMarks.find(one => one.files.test(path)) : undefined
  if (!marks) return []
  const line = added.find(text => {
    const bare = withoutTexts(text, marks.comment)
    return marks.marks.some(mark => mark.test(bare))
  })
  if (line === undefined) return []
  return [
    { rule: 'tests-skipped', path, detail: `Switched tests off in ${path}: ${line.trim().slice(0, 80)}` },
  ]
}

/** What stands in quotes or in a comment is said, not done. */
function withoutTexts(line: string, comment: RegExp): string {
  return line.replace(/(["'`])(?:\\.|(?!\1)[^\\])*\1/gu, '$1$1').replace(comment, '')
}

const slashes = /(?:^|\s)\/\/(?!\s*(?:go:build|\+build)).*$|^\s*(?:\/?\*).*$/u
const hash = /(?:^|\s)#(?!\[|!\[).*$/u

/** Marks that switch tests off, as they stand in added lines of test files. */
const skipMarks: readonly { files: RegExp; comment: RegExp; marks: readonly RegExp[] }[] = [
  {
    files: /\.[cm]?[jt]sx?$/u,
    comment: slashes,
    marks: [
      /(?<![.\w])(?:it|test|describe|suite|context|specify|bench)(?:\.\w+)*\.(?:skip|only|todo|fixme|fails|failing)\b/u,
      /(?<![.\w])(?:it|test|describe|suite)(?:\.\w+)*\.(?:skipIf\(\s*true|runIf\(\s*false)/u,
      /(?<![.\w])(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\s*[(.]/u,
      /(?<![.\w])(?:this|t|ctx)\.(?:skip|todo)\s*\(/u,
      /\bskip\s*:\s*true\b/u,
      /(?<![.\w])(?:it|test|describe|suite|Deno\.test)\b.*\b(?:skip|todo|only|ignore)\s*:\s*(?:true\b|''|""|``)/u,
      /\bDeno\.test\.(?:ignore|only)\b/u,
    ],
  },
  {
    files: /\.py$/u,
    comment: hash,
    marks: [
      /\bmark\.(?:skip|xfail)\b/u,
      /\bmark\.skipif\(\s*True\b/u,
      /\bpytest\.(?:skip|xfail)\s*\(/u,
      /@(?:unittest\.)?(?:skip|expectedFailure)\b/u,
      /\bself\.skipTest\s*\(|\braise (?:unittest\.)?SkipTest\b/u,
      /\b__test__\s*=\s*False\b|^\s*collect_ignore/u,
    ],
  },
  {
    files: /\.go$/u,
    comment: slashes,
    marks: [
      /\.Skip(?:Now|f)?\s*\(/u,
      /^func TestMain\s*\(/u,
      /^\/\/\s*(?:go:build|\+build)\s+(?:ignore|never|none|skip|disabled)\b/u,
    ],
  },
  {
    files: /\.rs$/u,
    comment: slashes,
    marks: [/#\[ignore\b/u, /#!?\[cfg\(\s*(?:any\(\s*\)|never|false|FALSE)\s*\)\]/u],
  },
  {
    files: /\.(?:java|kts?|scala|groovy)$/u,
    comment: slashes,
    marks: [
      /@(?:Disabled|Ignore)\b/u,
      /@Test\b.*\benabled\s*=\s*false\b/u,
      /\bassume(?:True\(\s*false|False\(\s*true)/u,
    ],
  },
  {
    files: /\.rb$/u,
    comment: hash,
    marks: [
      /(?<![.\w:])(?:xit|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\b\s*['"(]/u,
      /^\s*(?:skip|pending)(?:\s*['"(]|\s+(?:if|unless)\b|\s*$)/u,
      /\b(?:skip|pending|focus):\s*(?:true\b|['"])|,\s*:(?:skip|pending|focus)\b/u,
    ],
  },
  {
    files: /\.php$/u,
    comment: slashes,
    marks: [/\bmarkTest(?:Skipped|Incomplete)\b/u, /->(?:skip|todo|only)\s*\(/u],
  },
  { files: /\.(?:cs|fs|vb)$/u, comment: slashes, marks: [/\bSkip\s*=\s*"/u, /\[(?:Ignore|Explicit)\b/u] },
  { files: /\.exs?$/u, comment: hash, marks: [/@(?:module|describe)?tag\s+:?skip\b/u] },
  { files: /\.swift$/u, comment: slashes, marks: [/\bXCTSkip/u, /\.disabled\s*\(/u] },
  { files: /\.bats$/u, comment: hash, marks: [/^\s*skip\b/u] },
]
