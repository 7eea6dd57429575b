import type { ChangedFile } from '../../../src/core/outcome.ts'
import type { TreeReader } from '../../../src/gates/tree.ts'

export type Files = Record<string, string>

/** A tree in memory, read asynchronously as one of git would be. */
export function treeOf(files: Files): TreeReader {
  return {
    read: path => Promise.resolve(files[path] ?? null),
    list(folder) {
      const under = folder === '' ? '' : `${folder}/`
      const names = Object.keys(files).flatMap(path => {
        if (!path.startsWith(under)) return []
        const [first = '', ...rest] = path.slice(under.length).split('/')
        return [rest.length > 0 ? `${first}/` : first]
      })
      return Promise.resolve([...new Set(names)])
    },
  }
}

export function changes(before: Files, after: Files): ChangedFile[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return paths.flatMap((path): ChangedFile[] => {
    if (before[path] === after[path]) return []
    return [
      {
        path,
        how: before[path] === undefined ? 'added' : after[path] === undefined ? 'deleted' : 'modified',
      },
    ]
  })
}

/** `after` with some files changed; undefined deletes one. */
export function changed(before: Files, by: Record<string, string | undefined>): Files {
  return Object.fromEntries(
    Object.entries({ ...before, ...by }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
