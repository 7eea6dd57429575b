/** Cuts a stream of text into lines. Of a line longer than `longest` only the beginning is given; memory stays bounded. */
export function createLines(
  longest: number,
  onLine: (line: string) => void,
): { text(chunk: string): void; end(): void } {
  let parts: string[] = []
  let length = 0
  let open = false

  const add = (part: string) => {
    open = true
    if (length >= longest || part === '') return
    const kept = part.length > longest - length ? part.slice(0, longest - length) : part
    parts.push(kept)
    length += kept.length
  }
  const close = () => {
    const line = parts.length === 1 ? (parts[0] ?? '') : parts.join('')
    parts = []
    length = 0
    open = false
    onLine(line.endsWith('\r') ? line.slice(0, -1) : line)
  }
  return {
    text: chunk => {
      let from = 0
      for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
        add(chunk.slice(from, at))
        close()
        from = at + 1
      }
      if (from < chunk.length) add(from === 0 ? chunk : chunk.slice(from))
    },
    end: () => {
      if (open) close()
    },
  }
}
