import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fsPath } from './bytes.ts'
import type { Repository } from './repository-type.ts'

/**
 * What `git lfs clean` makes of a file, without running it (its configuration may name further programs): a pointer, and
 * the content in the store of Git LFS, from where the user's own push uploads it.
 */
export function lfsPointer(repository: Repository, name: string, options: { store: boolean }): string {
  const file = fsPath(repository.top, name)
  const size = fs.statSync(file).size
  if (size < 1024) {
    const text = fs.readFileSync(file, 'utf8')
    if (text === '' || text.startsWith('version https://git-lfs.github.com/spec/')) return text
  }
  const id = sha256(file)
  if (options.store) {
    const target = path.join(repository.commonDir, 'lfs/objects', id.slice(0, 2), id.slice(2, 4), id)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    if (!fs.existsSync(target)) {
      const { COPYFILE_FICLONE, COPYFILE_EXCL } = fs.constants
      // Nothing is written through a link that somebody put there.
      fs.rmSync(`${target}.ralph`, { force: true })
      fs.copyFileSync(file, `${target}.ralph`, COPYFILE_FICLONE | COPYFILE_EXCL)
      fs.renameSync(`${target}.ralph`, target)
    }
  }
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${id}\nsize ${size}\n`
}

/** In pieces: these are the files that are too big for git. */
function sha256(file: string | Buffer): string {
  const hash = crypto.createHash('sha256')
  const handle = fs.openSync(file, 'r')
  try {
    const piece = Buffer.alloc(1024 * 1024)
    for (let length = fs.readSync(handle, piece); length > 0; length = fs.readSync(handle, piece)) {
      hash.update(piece.subarray(0, length))
    }
  } finally {
    fs.closeSync(handle)
  }
  return hash.digest('hex')
}
