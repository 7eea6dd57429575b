import { count, createTally, type RunnerCounter, starts } from './counter.ts'

/**
 * Every test binary says `running 3 tests` and at its end `test result: …`; they are added up. A result that does not
 * add up to what was announced was printed by a test. Also `cargo nextest`.
 */
export function cargo(): RunnerCounter {
  const tally = createTally()
  let announced = -1
  let target = ''
  let listing = false
  const name = (text: string) => tally.name(target ? `${target} ${text}` : text)
  return {
    line(text) {
      if (!starts(text, 'rt f')) return
      const running = /^running (\d+) tests?$/u.exec(text)
      if (running) {
        tally.begin()
        announced = count(running[1])
        listing = false
        return
      }
      const binary = /^ {3,5}(?:Running|Doc-tests) (.+?)(?: \(\S+\))?$/u.exec(text)
      if (binary) target = binary[1] ?? ''
      const result =
        /^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured;/u.exec(text)
      if (result) {
        listing = false
        const [passed, failed, skipped, measured] = result.slice(1).map(count) as [
          number,
          number,
          number,
          number,
        ]
        if (announced === passed + failed + skipped + measured)
          tally.sum({ passed: passed + measured, failed, skipped })
        return
      }
      const failed = /^test (.+) \.\.\. FAILED$/u.exec(text)
      if (failed) name(failed[1] ?? '')
      if (text === 'failures:') listing = true
      else if (listing && /^ {4}\S+$/u.test(text)) name(text.trim())
      nextest(text)
    },
    end: tally.total,
  }

  function nextest(text: string) {
    const summary = /^ +Summary \[[^\]]+\] +(\d+)(?:\/\d+)? tests? run: (.+)$/u.exec(text)
    if (summary) {
      const value = (word: string) => count(new RegExp(`(\\d+) ${word}`, 'u').exec(summary[2] ?? '')?.[1])
      tally.sum({
        passed: value('passed'),
        failed: value('failed') + value('timed out'),
        skipped: value('skipped'),
      })
    }
    const failed = /^ +(?:FAIL|TIMEOUT|SIG[A-Z]+) \[[^\]]+\] (?:\([ \d/]+\) )?(.+)$/u.exec(text)
    if (failed) tally.name(failed[1] ?? '')
  }
}
