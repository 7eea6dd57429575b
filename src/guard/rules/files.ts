import type { Call, Rule } from '../call.ts'
import { has, parseOptions, valuesOf } from '../options.ts'
import { placesOf } from '../paths.ts'
import { type Refusal, refuse } from '../verdict.ts'
import { judgeDelete, judgeWrite } from '../writes.ts'

/** What changes or removes files. */
export const fileRules: readonly Rule[] = [
  { programs: 'rm unlink shred srm wipe rimraf del trash trash-put del-cli'.split(' '), judge: judgeRemoval },
  { programs: ['mv', 'move'], judge: call => judgeMove(call, 'deletes') },
  { programs: ['cp', 'install', 'ln', 'link', 'gcp'], judge: call => judgeMove(call, 'keeps') },
  {
    programs: ['truncate', 'fallocate'],
    judge: call => writes(call, words(call, '-s --size -r --reference -o -l --length')),
  },
  {
    programs: ['tee', 'touch', 'sponge', 'mkfifo'],
    judge: call => writes(call, words(call, '-d --date -r -t')),
  },
  {
    programs: ['mkdir', 'rmdir'],
    judge: call => {
      const refusal = writes(call, words(call, '-m --mode'))
      return refusal?.category === 'outside-write' || refusal?.category === 'obfuscation' ? null : refusal
    },
  },
  {
    programs: ['sed', 'perl', 'ruby'],
    judge: call => {
      const isInPlace = call.args.some(
        arg => /^-[a-zA-Z0-9]*i|^--in-place/u.test(arg) && !/^-[eIf]/u.test(arg),
      )
      if (!isInPlace) return null
      const { words: files, values } = parseOptions(call.args, '-e --expression -f --file -l')
      const hasCode =
        values.has('-e') || values.has('--expression') || values.has('-f') || /^perl|ruby/u.test(call.program)
      return writes(call, hasCode ? files : files.slice(1))
    },
  },
  {
    programs: ['dd'],
    judge: call => {
      const value = (key: string) => call.args.find(arg => arg.startsWith(`${key}=`))?.slice(key.length + 1)
      const [source, target] = [value('if') ?? '', value('of')]
      const refusal = target === undefined ? null : writes(call, [target])
      if (refusal) return refusal
      const isEndless = /^\/dev\/(?:zero|u?random|full)$/u.test(source) && value('count') === undefined
      return isEndless && target ? refuse('fork-bomb', 'dd would write without end: it has no count') : null
    },
  },
  { programs: ['tar', 'bsdtar'], judge: judgeArchive },
  {
    programs: ['unzip', '7z'],
    judge: call => writes(call, valuesOf(parseOptions(call.args, '-d -x'), '-d')),
  },
  {
    programs: ['zip', 'gzip', 'bzip2', 'xz'],
    judge: call =>
      call.args.some(arg => /^-TT|^--unzip-command/u.test(arg))
        ? refuse('obfuscation', 'zip would run a command to test the archive')
        : null,
  },
  {
    programs: ['rsync'],
    judge: call => {
      const { words: places, flags } = parseOptions(
        call.args,
        '-e --rsh -f --filter --exclude --include --files-from',
      )
      const target = places.at(-1) ?? ''
      if (places.length < 2 || /^[^/]*:/u.test(target)) return null
      const isDelete = flags.some(flag => /^--(?:del|remove-source)/u.test(flag))
      return isDelete ? deletes(call, [target]) : writes(call, [target])
    },
  },
]

function words(call: Call, valued: string): string[] {
  return parseOptions(call.args, valued).words
}

function writes(call: Call, texts: readonly string[]): Refusal | null {
  return firstRefusal(texts, text => judgeWrite({ program: call.program, text, scope: call.scope }))
}

function deletes(call: Call, texts: readonly string[]): Refusal | null {
  return firstRefusal(texts, text => judgeDelete({ program: call.program, text, scope: call.scope }))
}

function firstRefusal(texts: readonly string[], judge: (text: string) => Refusal | null): Refusal | null {
  for (const text of texts) {
    const refusal = judge(text)
    if (refusal) return refusal
  }
  return null
}

function judgeRemoval(call: Call): Refusal | null {
  if (call.args.includes('--help') && !call.args.includes('--')) return null
  const { words: targets } = parseOptions(call.args, '-n --iterations -s --size --random-source')
  const device = targets.find(target => /^\/dev\/(?!null|shm\/)/u.test(target))
  if (device) return refuse('disk-write', `${call.program} would overwrite the device ${device}`)
  return deletes(call, targets)
}

function judgeMove(call: Call, sources: 'deletes' | 'keeps'): Refusal | null {
  const options = parseOptions(call.args, '-t --target-directory -S --suffix -m --mode -o --owner -g --group')
  const { words: places } = options
  if (call.program === 'install' && has(options, '-d', '--directory')) return writes(call, places)
  const folder = valuesOf(options, '-t', '--target-directory')
  const isLink = call.program === 'ln' && places.length === 1
  const targets = folder.length > 0 ? folder : isLink ? ['.'] : places.slice(-1)
  const others = folder.length > 0 ? places : places.slice(0, -1)
  const [target = ''] = targets
  if (sources === 'deletes') {
    const refusal = deletes(call, others)
    if (refusal) return refusal
  }
  const inside = isFolder(target) ? others.map(other => `${target}/${other.split('/').at(-1) ?? ''}`) : []
  return writes(call, [...targets, ...inside])
}

/** A copy into a folder is a file of the same name in there. */
function isFolder(target: string): boolean {
  return target.endsWith('/') || /(?:^|\/)\.{1,2}$/u.test(target)
}

function judgeArchive(call: Call): Refusal | null {
  const [first = '', ...others] = call.args
  // `tar czf out.tgz dist`: the letters without a dash, their values after them.
  const args = /^[a-zA-Z]+$/u.test(first) ? [`-${first}`, ...others] : call.args
  const options = parseOptions(args, '-f --file -C --directory -T --files-from -X --exclude-from -I')
  const folders = valuesOf(options, '-C', '--directory')
  const files = valuesOf(options, '-f', '--file').filter(text => text !== '-')
  const isExtract = has(options, '-x', '--extract', '--get')
  if (isExtract && has(options, '-P', '--absolute-names'))
    return refuse('outside-write', 'tar would write wherever the archive says')
  if (isExtract) return writes(call, folders.length > 0 ? folders : ['.'])
  return has(options, '-c', '-r', '-u', '--create', '--append') ? writes(call, files) : null
}

/** Where the files of a copy end up, for whoever follows what is in them. */
export function copied(call: Call): { from: string[]; to: string[] } | null {
  const [from, to, more] = words(call, '-t -S -m -o -g')
  if (from === undefined || to === undefined || more !== undefined) return null
  const { state, session } = call.scope
  const paths = (text: string) => placesOf(text, state.cwd, session.context).map(place => place.path)
  return { from: paths(from), to: paths(to) }
}
