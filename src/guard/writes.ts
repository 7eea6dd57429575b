import { env, show } from './marks.ts'
import { emptied, type Place, placeOf, placesOf } from './paths.ts'
import { protectedAt } from './protected.ts'
import type { Scope } from './scope.ts'
import { type Refusal, refuse } from './verdict.ts'

export type FileUse = { program: string; text: string; scope: Scope }

/** A file is made, changed or replaced. */
export function judgeWrite(use: FileUse): Refusal | null {
  return first(use, place => writeTo(place, use.program))
}

/** A file or folder is deleted, emptied or moved away. */
export function judgeDelete(use: FileUse): Refusal | null {
  return first(use, place => deletion(place, use))
}

function first(use: FileUse, judge: (place: Place) => Refusal | null): Refusal | null {
  const { state, session } = use.scope
  for (const place of placesOf(use.text, state.cwd, session.context)) {
    const refusal = judge(place)
    if (refusal) return refusal
  }
  return null
}

export function writeTo(place: Place, program: string): Refusal | null {
  const device = judgeDevice(place.full)
  if (device !== undefined) return device
  const own = protectedAt(place)
  if (own) return refuse(own.category, `${program} would change ${show(place.full)}, which is ${own.what}`)
  if (place.zone !== 'outside') return null
  if (place.uncertain && place.path === '/') {
    // A variable that the user's environment has set is the user's word.
    if (place.full.startsWith(`/${env}`)) return null
    return refuse('obfuscation', `nobody can know where ${program} would write`)
  }
  return refuse(
    'outside-write',
    `${program} would write to ${show(place.full)}, which lies outside the workspace`,
  )
}

const harmlessDevice =
  /^\/dev\/(?:null|zero|full|stdin|stdout|stderr|tty|ptmx|pts\/\d+|fd\/.*|shm\/.+|u?random)$/u

/** undefined: not a device at all. */
function judgeDevice(path: string): Refusal | null | undefined {
  if (!/^\/(?:dev|proc|sys)(?:\/|$)/u.test(path)) return undefined
  if (harmlessDevice.test(path) || /^\/proc\/self\/fd\//u.test(path)) return null
  return refuse('disk-write', `writing to ${show(path)} changes a device or the kernel`)
}

function deletion(place: Place, { program, scope }: FileUse): Refusal | null {
  if (place.uncertain)
    return refuse('fs-destroy', `nobody can know what ${program} would delete at ${show(place.full)}`)
  if (/^\/dev\/(?:null|stdout|stderr)$/u.test(place.path)) return null
  const target = emptied(place.path)
  const zone = target === place.path ? place.zone : placeOf(target, '/', scope.session.context).zone
  if (zone !== 'workspace-root') {
    const own = place.relative === '.git/index.lock' ? null : protectedAt(place)
    if (own) return refuse(own.category, `${program} would remove ${show(place.full)}, which is ${own.what}`)
  }
  if (zone === 'workspace' || zone === 'temp') return null
  const what =
    zone === 'workspace-root'
      ? 'the whole workspace'
      : zone === 'temp-root'
        ? `all of ${show(target)}, which others use too`
        : `${show(place.path)}, which lies outside the workspace`
  return refuse('fs-destroy', `${program} would delete ${what}`)
}
