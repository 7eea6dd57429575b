import { readFile } from 'node:fs/promises'

/** The text of a file that an agent's own CLI keeps; empty when it is not there, or not ours to read: it tells nothing. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch {
    return ''
  }
}
