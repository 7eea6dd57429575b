import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { stateFiles } from '../layouts/layout.ts'
import type { BoxFiles, Context } from './context.ts'
import type { Position } from './workspace.ts'

export function newBoxFiles(): BoxFiles {
  return { left: null, brought: new Map() }
}

/** More than this, or anything but new content, is better seen by starting the box anew. */
const few = 20

/**
 * Before a program begins (S1-49, S1-50, C-42): a box that has copies does not see a file that is only overwritten
 * outside. What the engine wrote, what it put back and what the user edited is brought in; one that shares the files needs
 * none of this.
 */
export async function bringIn(context: Context, now: Position): Promise<void> {
  const { box, boxFiles, root } = context
  if (!box?.changedOutside) return
  const { left } = boxFiles
  const files = left ? await context.workspace.changedBetween(left.tree, now.tree) : []
  const moved = left !== null && left.head !== now.head
  const plain = files.every(({ path, how }) => how !== 'deleted' && isFile(join(root, path)))
  if (moved || files.length > few || !plain || !box.put) await box.changedOutside()
  else for (const { path } of files) await box.put(path, readFileSync(join(root, path)))
  await bringInUnseen(context)
}

/** The state files and marks of the preset, which git may not see. */
async function bringInUnseen({ box, boxFiles, layout, project, root }: Context): Promise<void> {
  const own = [...stateFiles(layout, project), ...(layout.lock ? [layout.lock.file] : [])]
  for (const path of own) {
    if (!isFile(join(root, path))) continue
    const content = readFileSync(join(root, path))
    const hash = createHash('sha1').update(content).digest('hex')
    if (boxFiles.brought.get(path) === hash) continue
    await box?.put?.(path, content)
    boxFiles.brought.set(path, hash)
  }
}

/** After a program: from here on a change is one that the box has not seen. */
export function leftBox({ boxFiles }: Context, position: Position | null): void {
  boxFiles.left = position && { tree: position.tree, head: position.head }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}
