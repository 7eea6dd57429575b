/** Cuts a stream of text into lines. Of a line of more than `longest` bytes only the beginning is given; memory stays bounded. */
export function createLines(
  longest: number,
  onLine: (line: string) => void,
): { text(chunk: string): void; end(): void } {
  let parts: string[] = []
  let bytes = 0
  let open = false

  const add = (part: string) => {
    open = true
    if (bytes >= longest || part === '') return
    // By characters, so a little more than the bytes say: a letter is not cut in two for the sake of a limit.
    const kept = part.length > longest - bytes ? part.slice(0, longest - bytes) : part
    parts.push(kept)
    bytes += Buffer.byteLength(kept)
  }
  const close = () => {
    const line = parts.length === 1 ? (parts[0] ?? '') : parts.join('')
    parts = []
    bytes = 0
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
