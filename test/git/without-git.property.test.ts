import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { changesBetween } from '../../src/git/changes.ts'
import { judge, parseIgnoreRules } from '../../src/git/ignore-rules.ts'
import { OnlyGitKnows } from '../../src/git/only-git.ts'
import type { Position } from '../../src/git/position-type.ts'
import { openRepository } from '../../src/git/repository.ts'
import { advancePosition, keepPosition, takePosition } from '../../src/git/snapshot.ts'
import { gitAlone } from './git-alone.ts'
import { removeTempFolders, type TempProject, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

// More with RALPH_RUNS=1000.
const numRuns = Number(process.env.RALPH_RUNS ?? 10)

const pattern = fc.oneof(
  fc.constantFrom(
    '*.log',
    '/a',
    'a/',
    'dir/*',
    '!dir/b',
    '**/c',
    'dir/**',
    'dir/**/c',
    '*',
    '!*.txt',
    '# x',
    '',
  ),
  fc.constantFrom(
    'a?',
    '*.py[cod]',
    '[A-Z]*',
    'a b ',
    'a\\ ',
    '\\!x',
    'dir//b',
    '/',
    '**',
    '***',
    'a**b',
    '**/',
    'ü*',
    '?',
  ),
  fc
    .array(fc.constantFrom('a', 'b', '*', '**', '/', '!', '.', 'x', '[ab]', '?'), { maxLength: 6 })
    .map(parts => parts.join('')),
)
const rules = fc.array(pattern, { maxLength: 4 }).map(lines => lines.join('\n'))
const names = [
  'a',
  'b',
  'ab',
  'a.log',
  'x.txt',
  'A1',
  'x.pyc',
  'dir/b',
  'dir/c',
  'dir/sub/c',
  'dir/sub/x.log',
  'a/b',
  'ü/c',
  'a b',
  'tracked.log',
  'dir',
]
const name = fc.constantFrom(...names)

describe('what is known without git is what git says', () => {
  it(
    'ignore rules',
    () => {
      const project = tempProject()
      fc.assert(
        fc.property(rules, name, fc.boolean(), (text, file, isFolder) => {
          const ours = verdict(text, file, isFolder)
          if (ours === 'git') return
          project.write('.gitignore', text)
          for (const one of fs.readdirSync(project.root)) if (!one.startsWith('.git')) project.remove(one)
          if (isFolder) fs.mkdirSync(path.join(project.root, file), { recursive: true })
          else project.write(file, '')
          expect(project.tryGit('check-ignore', '-q', '--no-index', `./${file}`)).toBe(ours)
        }),
        { numRuns: numRuns * 20 },
      )
    },
    numRuns * 10_000,
  )

  it(
    'the tree, the changes and the commits, whatever is done to the files',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), async actions => {
          const project = tempProject({
            a: 'one\n',
            'dir/b': 'two\n',
            'tracked.log': 'x\n',
            '.gitignore': '*.log\n',
          })
          project.git('add', '-f', 'tracked.log')
          project.git('commit', '-q', '--amend', '-m', 'Start')
          const [mine, its] = [tempFolder(), tempFolder()]
          const ours = await openRepository(project.root, { scratch: mine })
          const theirs = gitAlone(await openRepository(project.root, { scratch: its }))
          let before: [Position, Position] | null = null
          let count = 1
          for (const act of [{ run: () => {} }, ...actions]) {
            try {
              act.run(project)
            } catch {
              // Not every action fits the state that the ones before have left.
            }
            const now: [Position, Position] = [await takePosition(ours), await takePosition(theirs)]
            expect(seen(now[0])).toEqual(seen(now[1]))
            // As the engine does it: what is not kept may be cleared away.
            await keepPosition(ours, now[0], `refs/ralph/run/${++count}`)
            if (before) {
              const told = await changesBetween(ours, before[0], now[0])
              expect(told).toEqual(await changesBetween(theirs, before[1], now[1]))
            }
            before = now
          }
          const [last, lastOfGit] = before ?? []
          if (!last || !lastOfGit) return
          project.write('written by us', 'x\n')
          if (project.tryGit('check-ignore', '-q', '--no-index', 'written by us')) return
          const after = await advancePosition(ours, last, ['written by us'])
          expect(after.tree).toBe((await advancePosition(theirs, lastOfGit, ['written by us'])).tree)
          const base = await keepPosition(ours, after, 'refs/ralph/run/1')
          expect(project.git('rev-parse', 'refs/ralph/run/1^{tree}').trim()).toBe(base.tree)
          expect(project.git('fsck', '--no-dangling')).toBe('')
          for (const folder of [project.root, mine, its]) fs.rmSync(folder, { recursive: true, force: true })
        }),
        { numRuns },
      )
    },
    numRuns * 10_000,
  )
})

it('a change that hides behind the old time of the file is seen all the same', async () => {
  const project = tempProject({ a: 'one\n' })
  const repository = await openRepository(project.root)
  const file = path.join(project.root, 'a')
  // An older file whose state changed lately: to the second, nothing about it will be different.
  fs.utimesSync(file, 1_000_000_000, 1_000_000_000)
  for (const text of ['two\n', 'six\n', 'ten\n']) {
    const { tree } = await takePosition(repository)
    fs.writeFileSync(file, text)
    fs.utimesSync(file, 1_000_000_000, 1_000_000_000)
    const after = await takePosition(repository)
    expect(after.tree).not.toBe(tree)
    expect(project.git('show', `${after.tree}:a`)).toBe(text)
  }
})

type Action = { what: string; run: (project: TempProject) => void }

const place = (project: TempProject, file: string) => path.join(project.root, file)
const text = fc.constantFrom('one\n', 'two\n', 'x', '')
const target = fc.constantFrom('a', 'dir', '/nowhere')
const rulesFile = fc.constantFrom('.gitignore', 'dir/.gitignore')
const command = fc.constantFrom(
  ['add', '-A'],
  ['add', '-f', 'a.log'],
  ['commit', '-q', '-a', '-m', 'All'],
  ['commit', '-q', '--allow-empty', '-m', 'Empty'],
  ['reset', '-q', '--hard'],
  ['rm', '-q', '-r', '-f', 'dir'],
  ['gc', '-q', '--prune=now'],
  ['pack-refs', '--all'],
  ['checkout', '-q', '--detach'],
  ['branch', 'other'],
  ['tag', '-a', '-m', 'x', 'v1'],
  ['stash', '-q'],
)

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ write: name, text }).map(one => ({
    what: JSON.stringify(one),
    run: (project: TempProject) => project.write(one.write, one.text),
  })),
  fc.record({ remove: name }).map(one => ({
    what: JSON.stringify(one),
    run: (project: TempProject) => project.remove(one.remove),
  })),
  fc.record({ chmod: name }).map(one => ({
    what: JSON.stringify(one),
    run: (project: TempProject) => fs.chmodSync(place(project, one.chmod), 0o755),
  })),
  fc.record({ link: name, target }).map(one => ({
    what: JSON.stringify(one),
    run: (project: TempProject) => {
      project.remove(one.link)
      fs.symlinkSync(one.target, place(project, one.link))
    },
  })),
  fc.record({ rules: rulesFile, text: rules }).map(one => ({
    what: JSON.stringify(one),
    run: (project: TempProject) => project.write(one.rules, one.text),
  })),
  command.map(args => ({
    what: args.join(' '),
    run: (project: TempProject) => void project.tryGit(...args),
  })),
)

function seen({ tree, head, branch, refs, unstored }: Position) {
  return { tree, head, branch, refs: [...refs], unstored: [...unstored] }
}

function verdict(text: string, file: string, isFolder: boolean): boolean | 'git' {
  try {
    const parsed = parseIgnoreRules(text)
    const parts = file.split('/')
    for (let depth = 1; depth <= parts.length; depth++) {
      const said = judge(parsed, parts.slice(0, depth).join('/'), depth < parts.length || isFolder)
      if (said === true) return true
    }
    return false
  } catch (error) {
    if (error instanceof OnlyGitKnows) return 'git'
    throw error
  }
}
