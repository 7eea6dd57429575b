/** At most `most` lines, head and tail kept around the marker (S3-25). A newline at the end is no line of its own. */
export function cut(text: string, most = 100): string {
  const end = text.endsWith('\n') ? '\n' : ''
  const lines = (end ? text.slice(0, -1) : text).split('\n')
  if (lines.length <= most) return text
  const head = Math.floor(most / 2)
  const tail = most - head
  return (
    [...lines.slice(0, head), truncated(lines.length - most), ...lines.slice(lines.length - tail)].join(
      '\n',
    ) + end
  )
}

/** The mark that stands for lines left out. */
export function truncated(lines: number): string {
  return `[... ${lines} lines truncated ...]`
}

/** One line of at most `most` characters. */
export function oneLine(text: string, most = 200): string {
  const line = text.replace(/\s+/gu, ' ').trim()
  // A character of two halves must not be cut in the middle.
  return line.length > most ? `${line.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/u, '')}…` : line
}

/** `1 story`, `2 stories`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** `story` → `Story`. */
export function capital(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`
}

/** `story` → `stories`, `task` → `tasks`. */
export function pluralOf(noun: string): string {
  return /[^aeiou]y$/u.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`
}

/** `45s`, `5m`, `2h`: an age or a duration for people. */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  return `${Math.floor(minutes / 60)}h`
}

/** `850 ms`, `12.3 s`, `5m 23s`, `2h 05m`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, '0')}s`
  return `${Math.floor(seconds / 3600)}h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')}m`
}
