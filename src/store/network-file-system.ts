import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { UserError } from '../core/errors.ts'

/**
 * SQLite's locks and shared memory do not hold over a network: two machines would destroy the journal. Container and
 * virtual machine mounts (overlay, virtiofs, 9p, fuse.grpcfuse, …) belong to one machine and are let through.
 */
const network = new Set([
  'nfs',
  'nfs4',
  'cifs',
  'smb3',
  'smbfs',
  'ncpfs',
  'afs',
  'coda',
  'ceph',
  'lustre',
  'gpfs',
  'beegfs',
  'glusterfs',
  'davfs',
  'fuse.sshfs',
  'fuse.glusterfs',
  'fuse.ceph',
  'fuse.ceph-fuse',
  'fuse.rclone',
  'fuse.s3fs',
  'fuse.davfs',
  'fuse.moosefs',
  'fuse.juicefs',
])

/** Only Linux has a list of mounts that can be read; elsewhere nothing is refused. */
export function refuseNetworkFileSystem(path: string, mountinfo = '/proc/self/mountinfo'): void {
  if (!existsSync(mountinfo)) return
  const type = mountType(readFileSync(mountinfo, 'utf8'), realFolder(path))
  if (type === null || !network.has(type)) return
  throw new UserError(
    `${path} is on a network file system (${type}), where the journal would not survive two writers`,
    'Move the project to a local disk.',
  )
}

/** The type of the file system a path lies on. Of several mounts on one point, the last one is in sight. */
export function mountType(mountinfo: string, path: string): string | null {
  let best = ''
  let type: string | null = null
  for (const line of mountinfo.split('\n')) {
    const [before, after] = line.split(' - ')
    const point = before?.split(' ')[4]
    if (!point || !after) continue
    const folder = decodePoint(point)
    if (!isWithin(path, folder) || folder.length < best.length) continue
    best = folder
    type = after.split(' ')[0] ?? null
  }
  return type
}

function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}

/** Blanks and the like are written as octal numbers. */
function decodePoint(point: string): string {
  return point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

/** The nearest folder above that exists, links resolved. */
function realFolder(path: string): string {
  let folder = resolve(path)
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  return realpathSync(folder)
}
