import { copyFileSync, existsSync, readFileSync } from 'node:fs'

/** A file nobody can read may still be worth something to its owner: it is copied, and no earlier copy is overwritten. */
export function backUp(path: string): void {
  const bytes = readFileSync(path)
  for (let number = 0; ; number++) {
    const copy = number === 0 ? `${path}.bak` : `${path}.bak.${number}`
    if (existsSync(copy) && !readFileSync(copy).equals(bytes)) continue
    copyFileSync(path, copy)
    return
  }
}
