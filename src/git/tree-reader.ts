import { git } from './git.ts'
import { rawDir } from './private-dir.ts'
import type { Repository } from './repository-type.ts'
import { toTop } from './scope.ts'

/** Reads files and folders of a stored tree, without checking it out. Paths are from the project's root. */
export function treeReader(
  repository: Repository,
  tree: string,
): { read(path: string): Promise<string | null>; list(folder: string): Promise<string[]> } {
  const place = rawDir(repository)
  return {
    read: async path => {
      const { code, stdout } = await git(place, ['cat-file', 'blob', `${tree}:${toTop(repository, path)}`])
      return code === 0 ? stdout : null
    },
    list: async folder => {
      const at = toTop(repository, folder).replace(/\/$/u, '')
      const { code, stdout } = await git(place, ['ls-tree', '-z', at === '' ? tree : `${tree}:${at}`])
      if (code !== 0) return []
      return stdout.split('\0').flatMap(line => {
        const [facts = '', name] = line.split('\t')
        return name === undefined ? [] : [facts.startsWith('040000') ? `${name}/` : name]
      })
    },
  }
}
