import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { putBack } from '../../src/git/put-back.ts'
import { openRepository } from '../../src/git/repository.ts'
import { keepPosition, takePosition } from '../../src/git/snapshot.ts'
import { busyProject } from './busy-project.ts'
import { gitAlone } from './git-alone.ts'
import { files, removeTempFolders, repositoryState, type TempProject } from './temp-project.ts'

afterAll(removeTempFolders)

// More with RALPH_RUNS=1000.
const numRuns = Number(process.env.RALPH_RUNS ?? 10)

const names = [
  'a.txt',
  'b.txt',
  'dir/c.txt',
  'dir/d.txt',
  'dir',
  'link',
  'run.sh',
  'new.txt',
  'notes.txt',
  'x y',
  '-n',
  'new\nline',
  'ü/💀',
  'ü',
  'dir/c.txt/z',
]
const name = fc.constantFrom(...names)

type Action = { what: string; run: (project: TempProject) => void }

const place = (project: TempProject, file: string) => path.join(project.root, file)
const content = fc.string({ maxLength: 12 })

const fileAction: fc.Arbitrary<Action> = fc.oneof(
  fc.tuple(name, content).map(([file, text]) => ({
    what: `write ${JSON.stringify(file)}`,
    run: (project: TempProject) => project.write(file, text),
  })),
  name.map(file => ({
    what: `remove ${JSON.stringify(file)}`,
    run: (project: TempProject) => project.remove(file),
  })),
  fc.tuple(name, name).map(([from, to]) => ({
    what: `rename ${JSON.stringify(from)} ${JSON.stringify(to)}`,
    run: (project: TempProject) => fs.renameSync(place(project, from), place(project, to)),
  })),
  fc.tuple(name, fc.constantFrom(0o644, 0o755)).map(([file, mode]) => ({
    what: `chmod ${JSON.stringify(file)}`,
    run: (project: TempProject) => fs.chmodSync(place(project, file), mode | 0o100),
  })),
  fc.tuple(name, name).map(([file, target]) => ({
    what: `link ${JSON.stringify(file)} ${JSON.stringify(target)}`,
    run: (project: TempProject) => {
      project.remove(file)
      fs.symlinkSync(target, place(project, file))
    },
  })),
  fc.constantFrom('', 'new.txt\n', '*\n', 'x y\nü/\n.env\n').map(rules => ({
    what: `.gitignore ${JSON.stringify(rules)}`,
    run: (project: TempProject) => project.write('.gitignore', rules),
  })),
)

const gitAction: fc.Arbitrary<Action> = fc
  .constantFrom(
    ['add', '-A'],
    ['commit', '-q', '-a', '-m', 'All'],
    ['commit', '-q', '--allow-empty', '-m', 'Some'],
    ['commit', '-q', '--amend', '--allow-empty', '-m', 'Amended'],
    ['reset', '-q', '--hard', 'HEAD~1'],
    ['reset', '-q'],
    ['checkout', '-q', '-f', 'other'],
    ['checkout', '-q', '-f', 'main'],
    ['checkout', '-q', '-b', 'agent'],
    ['checkout', '-q', '--detach'],
    ['checkout', '-q', '--orphan', 'bare'],
    ['branch', '-D', 'other'],
    ['branch', '-f', 'other', 'HEAD'],
    ['branch', 'other/nested'],
    ['tag', '-f', 'v1', 'HEAD'],
    ['tag', '-d', 'v1'],
    ['stash', '-q'],
    ['stash', '-q', '-u'],
    ['stash', 'pop', '-q'],
    ['stash', 'drop', '-q', 'stash@{1}'],
    ['stash', 'clear'],
    ['merge', '-q', 'other'],
    ['clean', '-f', '-d', '-q'],
    ['rm', '-q', '-r', '-f', 'dir'],
    ['pack-refs', '--all'],
    ['gc', '-q'],
  )
  .map(args => ({
    what: `git ${args.join(' ')}`,
    run: (project: TempProject) => void project.tryGit(...args),
  }))

const attempt = fc.array(
  fc.oneof({ weight: 3, arbitrary: fileAction }, { weight: 2, arbitrary: gitAction }),
  { minLength: 1, maxLength: 9 },
)

it(
  'G-19 whatever an agent does, files, index, branches and stash are put back byte for byte',
  async () => {
    const look = fc.boolean()
    await fc.assert(
      fc.asyncProperty(
        attempt,
        look,
        fc.boolean(),
        fc.boolean(),
        async (actions, lookBetween, crash, alone) => {
          const project = busyProject()
          const repository = await openRepository(project.root)
          if (alone) gitAlone(repository)
          const base = await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/1')
          const before = repositoryState(project)
          for (const [index, action] of actions.entries()) {
            try {
              action.run(project)
            } catch {
              // Not every action fits the state that the ones before have left.
            }
            if (lookBetween && index % 3 === 0) await takePosition(repository)
          }
          const ignored = (state: Record<string, string>) =>
            Object.entries(state).filter(([file]) => file === '.env' || file.endsWith('.log'))
          const left = ignored(files(project.root))
          // Without Ralph's folder there is no journal either, and so nobody who would ask.
          const engine =
            crash && project.exists('.ralph/git/positions')
              ? await openRepository(project.root, { recovering: true })
              : repository
          await putBack(engine, base, { keepAs: 'refs/ralph/kept/1' })
          // Ignored files are left alone: as the agent left them, not as they were.
          expect(ignored(files(project.root))).toEqual(left)
          for (const [file, text] of [
            ['.env', 'SECRET=1\n'],
            ['debug.log', 'log\n'],
          ] as const) {
            project.remove(file)
            project.write(file, text)
          }
          expect(repositoryState(project)).toEqual(before)
          fs.rmSync(project.root, { recursive: true, force: true })
        },
      ),
      { numRuns },
    )
  },
  numRuns * 10_000,
)
