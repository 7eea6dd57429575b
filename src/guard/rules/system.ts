import type { Call, Rule } from '../call.ts'
import { isUnknown, name, show } from '../marks.ts'
import { has, parseOptions } from '../options.ts'
import { placesOf } from '../paths.ts'
import { protectedAt } from '../protected.ts'
import { type Refusal, refuse } from '../verdict.ts'
import { subcommandRules } from './words.ts'

/** The machine itself: disks, processes, rights of files, what runs later. */
export const systemRules: readonly Rule[] = [
  {
    programs:
      'mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted diskutil wipefs hdparm blkdiscard swapoff swapon umount losetup cryptsetup lvremove vgremove pvremove mdadm zpool zfs badblocks mknod dmsetup newfs format e2fsck fsck tune2fs resize2fs'.split(
        ' ',
      ),
    judge: call =>
      call.program !== 'umount' &&
      call.args.some(arg => /^(?:-l|--list|list|info|status|-h|--help|--version)$/u.test(arg))
        ? null
        : refuse('disk-write', `${call.program} would change disks or mounts`),
  },
  {
    programs: ['mount'],
    judge: ({ args }) =>
      args.length === 0 || args.every(arg => /^-[lvV]$/u.test(arg))
        ? null
        : refuse('container-escape', 'mount would change what this machine sees'),
  },
  { programs: ['kill'], judge: judgeKill },
  {
    programs: ['pkill', 'killall', 'skill', 'snice', 'killall5', 'taskkill', 'xkill'],
    judge: ({ program, args }) =>
      args.includes('-l')
        ? null
        : refuse('kill', `${program} would end every process of that name, whoever started it`),
  },
  {
    programs: ['fuser'],
    judge: ({ args }) =>
      args.some(arg => /^-[a-zA-Z]*k/u.test(arg))
        ? refuse('kill', 'fuser -k would end processes it has not started')
        : null,
  },
  ...subcommandRules([
    {
      category: 'kill',
      what: 'would end the sessions of others',
      lines: ['tmux kill-server', 'screen -X quit', 'byobu kill-server'],
    },
  ]),
  { programs: ['chmod'], judge: judgeChmod },
  {
    programs: ['chown', 'chgrp'],
    judge: call => outside(call, parseOptions(call.args).words.slice(1)),
  },
  {
    programs: ['chattr', 'setfacl', 'setcap', 'chcon', 'chflags', 'icacls', 'takeown'],
    judge: ({ program }) => refuse('permissions', `${program} would change who may do what`),
  },
  {
    programs: ['umask'],
    judge: ({ args }) =>
      args.some(arg => /^0*$|^0?0?[0-7]?[01]$/u.test(arg))
        ? refuse('permissions', 'umask would open new files to everybody')
        : null,
  },
  {
    programs: ['install'],
    judge: ({ args }) =>
      parseOptions(args, '-m --mode').values.get('-m')?.some(isOpenMode)
        ? refuse('permissions', 'install would give the file dangerous rights')
        : null,
  },
  {
    programs: ['crontab'],
    judge: ({ args }) =>
      args.includes('-l') && !args.includes('-r')
        ? null
        : refuse('persistence', 'crontab would change what runs later'),
  },
  {
    programs: [
      'at',
      'batch',
      'anacron',
      'systemd-run',
      'launchctl',
      'schtasks',
      'update-rc.d',
      'chkconfig',
      'loginctl',
      'pm2-startup',
      'chsh',
    ],
    judge: ({ program, args }) =>
      args.some(arg => /^(?:-l|list|print|list-sessions|show-session)$/u.test(arg))
        ? null
        : refuse('persistence', `${program} would leave something behind that runs later`),
  },
  {
    programs: ['cat', 'tail', 'cp', 'yes', 'less', 'sort', 'dd'],
    judge: ({ program, args, scope }) => {
      const isEndless = program === 'yes' || args.some(arg => /^\/dev\/(?:zero|u?random|full)$/u.test(arg))
      const isFollowed = program === 'tail' || program === 'sort' || scope.stdout !== 'pipe'
      return isEndless && isFollowed ? refuse('fork-bomb', `${program} would read without end`) : null
    },
  },
  {
    programs: ['fallocate', 'truncate', 'head'],
    judge: ({ program, args }) =>
      args.some(arg =>
        /^(?:-[slc]|--size=|--length=|--bytes=)?\+?\d*(?:[TPE]i?B?|\d{3,}[Gg]i?B?|\d{12,})$/u.test(arg),
      )
        ? refuse('fork-bomb', `${program} would fill the disk`)
        : null,
  },
  {
    programs: ['stress', 'stress-ng'],
    judge: ({ program }) => refuse('fork-bomb', `${program} would use up the machine`),
  },
]

function judgeKill({ args }: Call): Refusal | null {
  if (args.some(arg => /^-[lL]$|^--list$|^--table$/u.test(arg))) return null
  const isAsk = args.some((arg, index) => arg === '-0' || (/^-[sn]$/u.test(arg) && args[index + 1] === '0'))
  if (isAsk) return null
  const rest = args.filter((arg, index) => !/^-[sn]$/u.test(arg) && !/^-[sn]$/u.test(args[index - 1] ?? ''))
  const isSignal = (arg: string | undefined) => /^-(?:[A-Za-z][\w+-]*|\d{1,2})$/u.test(arg ?? '')
  const end = rest.indexOf('--')
  // The first word with a dash is a signal; one more is a group of processes.
  const targets =
    end !== -1 ? rest.slice(end + 1) : isSignal(rest[0]) && rest.length > 1 ? rest.slice(1) : rest
  for (const target of targets) {
    if (isUnknown(target)) return refuse('kill', 'nobody can know which process kill would end')
    if (target.startsWith('-') || /^0*[01]?$/u.test(target))
      return refuse('kill', `kill ${show(target)} would end processes that are not its own`)
    if (!/^(?:\d+|%.*|\w+)$/u.test(target.replaceAll(name, '7')))
      return refuse('kill', 'nobody can know which process kill would end')
  }
  return null
}

function isOpenMode(mode: string): boolean {
  return (
    /^0?[0-7]*[0-7][0-7][2367]$/u.test(mode) ||
    /^[2-7][0-7]{3}$/u.test(mode) ||
    /^0[1-7][0-7]{3}$/u.test(mode)
  )
}

function judgeChmod(call: Call): Refusal | null {
  const options = parseOptions(
    call.args.map(arg => (/^-[rwxXst]+(?:,|$)/u.test(arg) && !/^-R$/u.test(arg) ? `u${arg}` : arg)),
  )
  const [mode = '', ...targets] = has(options, '--reference') ? ['', ...options.words] : options.words
  if (/^\d+$/u.test(mode) && (isOpenMode(mode) || mode === '777'))
    return refuse('permissions', `chmod ${mode} would open files to everybody or set setuid`)
  if (
    mode.split(',').some(one => /^[ugoa]*[+=][rwxX]*s|^[ugo]*[oa][ug]*[+=][rx]*w|^\+[rx]*w[rx]*t/u.test(one))
  )
    return refuse('permissions', `chmod ${mode} would open files to everybody or set setuid`)
  return outside(call, targets)
}

function outside(call: Call, targets: readonly string[]): Refusal | null {
  const { state, session } = call.scope
  for (const target of targets)
    for (const place of placesOf(target, state.cwd, session.context)) {
      const own = protectedAt(place)
      if (own)
        return refuse(own.category, `${call.program} would change ${show(place.full)}, which is ${own.what}`)
      if (place.zone === 'outside')
        return refuse(
          'permissions',
          `${call.program} would change ${show(place.full)}, which lies outside the workspace`,
        )
    }
  return null
}
