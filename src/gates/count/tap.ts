import { count, createTally, type RunnerCounter } from './counter.ts'

type Counts = { passed: number; failed: number; skipped: number }

/**
 * TAP of any producer, the closing lines of `node --test`, tape, ava and mocha in TAP (`# tests 7`, `# pass 2` …), the
 * same lines of the spec reporter of `node --test` (`ℹ tests 7` …), and `prove`.
 */
export function tap(): RunnerCounter {
  const tally = createTally()
  const results = resultLines(tally.name)
  const closing = closingLines()
  let headed = false
  let trailer: Counts | null = null

  /** Closing lines are the runner's own word; result lines count only where there are none. */
  const close = () => {
    const lines = results.take()
    if (trailer && lines) {
      // ava counts an open TODO as failed, mocha leaves skipped ones out.
      const failed = Math.min(trailer.failed, lines.notOk)
      tally.sum({ ...trailer, failed, skipped: Math.max(trailer.skipped, lines.skipped) })
    } else if (trailer) tally.sum(trailer)
    else if (lines && (headed || lines.planned)) tally.sum(lines)
    trailer = null
  }
  const closed = (counts: Counts | null) => {
    if (!counts) return
    // Without a header each summary ends its own run; with one the last summary of the run is the true one.
    trailer = counts
    if (!headed) close()
  }
  return {
    line(text) {
      if (/^TAP version \d+$/u.test(text)) {
        closed(closing.end())
        close()
        headed = true
        return
      }
      const mark = text.charCodeAt(0)
      if (mark === 0x23 || mark === 0x2139) {
        const found = closing.line(text)
        if (found !== 'other') return closed(found)
      }
      closed(closing.end())
      if (mark === 0x46 && results.prove(text)) {
        // `prove` sums up what it read; the lines it passed on are not counted again.
        tally.sum(results.proven())
        headed = false
        return
      }
      results.line(text)
    },
    end() {
      closed(closing.end())
      close()
      return tally.total()
    },
  }
}

/** `ok 1 - adds`, `not ok 2 - fails # TODO`, nested ones too: a line that follows deeper ones sums those up and is not counted. */
function resultLines(name: (text: string) => void) {
  let seen: (Counts & { notOk: number }) | null = null
  let planned = false
  let depth = 0
  let diagnostics = -1
  let proveTests = 0
  let proveFailed = 0
  let proveFile = ''
  const counts = () => {
    seen ??= { passed: 0, failed: 0, skipped: 0, notOk: 0 }
    return seen
  }
  return {
    line(text: string) {
      const indent = text.length - text.trimStart().length
      if (diagnostics >= 0) {
        if (text.trim() === '...' || (text.trim() !== '' && indent < diagnostics)) diagnostics = -1
        return
      }
      const failing = /^ *✖ (.+?) \([\d.]+ms\)/u.exec(text)
      if (failing) name(failing[1] ?? '')
      const plan = /^1\.\.(\d+)/u.exec(text)
      if (plan) {
        planned = true
        if (plan[1] === '0') counts()
      }
      if (/^Bail out!/u.test(text)) counts().failed += 1
      const wstat = /^(\S+) +\(Wstat: \d+.* Tests: \d+ Failed: (\d+)\)/u.exec(text)
      if (wstat) {
        proveFile = wstat[1] ?? ''
        proveFailed += count(wstat[2])
      }
      const tests = /^ {2}Failed tests?: +(.+)$/u.exec(text)
      if (tests && proveFile) name(`${proveFile}: ${tests[1]}`)
      const result = /^ *(not )?ok (\d+)(?: (.*))?$/u.exec(text)
      if (result) read(result[1] !== undefined, result[3] ?? '', indent)
      else if (seen && text.trim() === '---') diagnostics = indent
    },
    prove(text: string): boolean {
      const summary = /^Files=\d+, Tests=(\d+),/u.exec(text)
      if (summary) proveTests = count(summary[1])
      return summary !== null
    },
    proven(): Counts {
      const skipped = seen?.skipped ?? 0
      const counts = { passed: Math.max(0, proveTests - proveFailed - skipped), failed: proveFailed, skipped }
      seen = null
      proveFailed = 0
      proveFile = ''
      return counts
    },
    take() {
      const taken = seen && { ...seen, planned }
      seen = null
      planned = false
      depth = 0
      diagnostics = -1
      return taken
    },
  }

  function read(bad: boolean, rest: string, indent: number) {
    const parent = indent < depth || rest.endsWith('{')
    depth = indent
    const skip = /# skip\b/iu.test(rest)
    const todo = /# todo\b/iu.test(rest)
    if (bad && !todo) {
      counts().notOk += 1
      name(
        rest
          .replace(/^- /u, '')
          .replace(/ # time=.*$/u, '')
          .replace(/ ?\{$/u, ''),
      )
    }
    if (parent) return
    if (skip || todo) counts().skipped += 1
    else if (bad) counts().failed += 1
    else counts().passed += 1
  }
}

/** Collects `# tests 7`, `# pass 2` … until another line comes. */
function closingLines() {
  let seen: Record<string, number> | null = null
  let spec = false
  const take = (): Counts | null => {
    const found = seen
    seen = null
    if (!found || found.tests === undefined || (found.pass === undefined && found.fail === undefined))
      return null
    // The spec reporter prints what tests print as it is; its own block is always whole.
    if (spec && (found.cancelled === undefined || found.todo === undefined)) return null
    return {
      passed: found.pass ?? 0,
      failed: (found.fail ?? 0) + (found.cancelled ?? 0),
      skipped: (found.skipped ?? 0) + (found.skip ?? 0) + (found.todo ?? 0),
    }
  }
  return {
    line(text: string): Counts | null | 'other' {
      const part =
        /^([#ℹ]) (tests|suites|pass|fail|cancelled|skipped|skip|todo|duration_ms)\s+(\d+)(?:\.\d+)?$/u.exec(
          text,
        )
      if (!part) return 'other'
      const key = part[2] ?? ''
      if (key !== 'tests') {
        if (seen) seen[key] = count(part[3])
        return null
      }
      const earlier = take()
      spec = part[1] === 'ℹ'
      seen = { tests: count(part[3]) }
      return earlier
    },
    end: take,
  }
}
