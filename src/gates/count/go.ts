import { count, createTally, emptyCounts, type RunnerCounter, starts } from './counter.ts'

/**
 * With `-v` or `-json` every test is told and counted, subtests too. Plain `go test` tells only packages, so packages
 * are what is counted, and the unit says so. Also gotestsum.
 */
export function go(): RunnerCounter {
  const tally = createTally()
  const tests = emptyCounts()
  const packages = emptyCounts()
  let verbose = false
  let seen = false
  return {
    line(text) {
      if (!starts(text, '{=- oF?D')) return
      if (text.startsWith('{')) return json(text)
      const package_ = /^(ok|FAIL|\?) {0,3}\t(\S+)(?:\s+(.*))?$/u.exec(text)
      if (package_) return onePackage(package_[1] ?? '', package_[2] ?? '', package_[3] ?? '')
      if (/^=== RUN {3}/u.test(text)) verbose = true
      const test = /^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/u.exec(text)
      if (test) oneTest(test[1] ?? '', test[2] ?? '')
      const sum =
        /^DONE (?:\d+ runs, )?(\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, \d+ errors?)? in /u.exec(
          text,
        )
      if (sum) {
        const skipped = count(sum[2])
        const failed = count(sum[3])
        tally.sum({ passed: Math.max(0, count(sum[1]) - skipped - failed), failed, skipped })
      }
    },
    end() {
      const summed = tally.total()
      if (summed || !seen) return summed
      tally.sum(verbose ? tests : { ...packages, unit: 'packages' })
      return tally.total()
    },
  }

  function json(text: string) {
    const action = /"Action":"(pass|fail|skip)"/u.exec(text)
    const package_ = /"Package":"([^"]+)"/u.exec(text)
    if (!action || !package_) return
    seen = true
    verbose = true
    const test = /"Test":"((?:[^"\\]|\\.)+)"/u.exec(text)
    if (test) oneTest((action[1] ?? '').toUpperCase(), `${package_[1]}.${test[1]}`)
  }

  function onePackage(word: string, path: string, rest: string) {
    seen = true
    if (word === 'ok' && rest.includes('[no tests to run]')) return
    if (word === 'ok') packages.passed += 1
    if (word !== 'FAIL') return
    packages.failed += 1
    // A package that does not build ran no test, and no test is named.
    if (/\[(?:build|setup) failed\]/u.test(rest)) {
      tests.failed += 1
      tally.name(`${path} does not build`)
    }
  }

  function oneTest(word: string, name: string) {
    if (word === 'PASS') tests.passed += 1
    if (word === 'SKIP') tests.skipped += 1
    if (word !== 'FAIL') return
    tests.failed += 1
    tally.name(name)
  }
}
