import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bubblewrap } from '../../src/sandbox/bubblewrap.ts'
import type { Box } from '../../src/sandbox/sandbox.ts'
import { type BoxProject, createBoxProject } from './bubblewrap-project.ts'

let project: BoxProject
let box: Box

beforeAll(async () => {
  project = createBoxProject()
  const probe = await bubblewrap().probe({
    root: project.root,
    agents: [],
    worktrees: false,
    env: process.env,
  })
  // Without it these tests say nothing.
  if (!probe.ok) throw new Error(`bubblewrap does not work here: ${probe.problem}. ${probe.fix}`)
  box = await project.open()
})
afterAll(() => project.cleanup())

const output = async (script: string, more = {}) => (await project.run(box, script, more)).output.trim()

describe('what a program in a box sees', () => {
  it.each([
    ['the secret in the home', () => `cat ${project.home}/canary`],
    ['another folder beside the project', () => `cat ${project.write('beside/canary', 'secret')}`],
    [
      'the real home of whoever runs this',
      () => `ls ${homedir()}/.ssh ${homedir()}/.bash_history ${homedir()}/.npmrc`,
    ],
    ['the processes of this machine', () => `test -e /proc/${process.pid}/cmdline`],
    ['the temporary files of this machine', () => `ls /tmp/ralph-box-* /var/tmp/ralph-box-*`],
    [
      'services of this machine',
      () => 'ls /run/systemd /run/docker.sock /var/run/docker.sock /sys/class /var/lib/dpkg',
    ],
    ['disks', () => 'ls /dev/sda /dev/vda /dev/mem /dev/kmsg'],
    ['what agents of other programs have', () => `ls ${project.root}/.ralph/box/cache`],
  ])('not %s', async (_, script) => {
    const { exit, output } = await project.run(box, script())
    expect(exit).not.toBe(0)
    expect(output).not.toContain('secret')
  })

  it('not the passwords of the machine, even as root', async () => {
    expect(await output('cat /etc/shadow /etc/gshadow 2>/dev/null | wc -c')).toBe('0')
    expect(await output('ls -A /etc/ssl/private /etc/sudoers.d 2>/dev/null | grep -v : | tr -d "\\n"')).toBe(
      '',
    )
    expect(await output('head -c 4 /etc/passwd')).toHaveLength(4)
  })

  it('the project at its own path, and a home, temporary files and processes of its own', async () => {
    expect(await output('pwd; cat readme.md; ls ~ /tmp; ps -A -o pid= | wc -l')).toMatch(
      new RegExp(`^${project.root}\nhello\n[^]*\n[3-7]$`),
    )
    expect(await output('echo $HOME; touch ~/x /tmp/x /var/tmp/x && echo made')).toBe(`${project.home}\nmade`)
    expect(await output('ls ~/x /tmp/x /var/tmp/x 2>&1 | grep -c "No such"')).toBe('3')
    expect(existsSync(join(project.home, 'x'))).toBe(false)
  })

  it('its environment and what the box sets, nothing else', async () => {
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: project.home,
      MINE: '1',
      SSH_AUTH_SOCK: '/run/agent',
      HTTPS_PROXY: 'x',
    }
    const names = (await output('env', { env })).split('\n').map(line => line.split('=')[0])
    expect(names.sort().filter(name => name !== '_')).toEqual([
      ...['ALL_PROXY', 'GIT_CONFIG_COUNT', 'GIT_CONFIG_KEY_0', 'GIT_CONFIG_KEY_1', 'GIT_CONFIG_VALUE_0'],
      ...[
        'GIT_CONFIG_VALUE_1',
        'HOME',
        'HTTPS_PROXY',
        'HTTP_PROXY',
        'MINE',
        'NODE_USE_ENV_PROXY',
        'NO_PROXY',
        'PATH',
      ],
      ...['PWD', 'TMPDIR', 'all_proxy', 'http_proxy', 'https_proxy', 'no_proxy'],
    ])
    expect(await output('echo $HTTPS_PROXY', { env })).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  it('tools that lie in the home, to be read, without the keys beside them', async () => {
    project.write('home/.cargo/bin/tool', '#!/bin/sh\necho from the toolchain\n')
    project.write('home/.cargo/credentials.toml', 'secret')
    project.write('home/.nvm/.npmrc', 'x')
    project.write('home/own/lib/part', 'x')
    project.write('home/own/bin/other', '#!/bin/sh\ncat "$(dirname "$0")/../lib/part"\n')
    execFileSync('chmod', ['+x', join(project.home, '.cargo/bin/tool'), join(project.home, 'own/bin/other')])
    const env = {
      PATH: `${project.home}/.cargo/bin:${project.home}/own/bin:${process.env.PATH}`,
      HOME: project.home,
    }
    expect(await output('tool; other', { env })).toBe('from the toolchain\nx')
    expect((await project.run(box, 'cat ~/.cargo/credentials.toml', { env })).output).not.toContain('secret')
    expect((await project.run(box, 'echo x > ~/.cargo/bin/tool', { env })).exit).not.toBe(0)
  })

  it('what the user allows besides, and of that no keys he did not name', async () => {
    const read = project.write('allowed/read/file', 'to read')
    project.write('allowed/write/file', '')
    project.write('home/notes/file', 'note')
    project.write('home/.config/gh/hosts.yml', 'secret')
    project.write('home/.config/other', 'other')
    const writes = [join(project.base, 'allowed/write')]
    const wide = await project.open({
      reads: [join(project.base, 'allowed/read'), '~/notes', '~/.config'],
      writes,
    })
    const script = `cat ${read} ~/notes/file ~/.config/other; echo x > ${writes[0]}/file; echo x > ${read}; cat ~/.config/gh/hosts.yml`
    const ran = await project.run(wide, script)
    expect(await project.run(wide, `cat ${read} ~/notes/file ~/.config/other`)).toMatchObject({
      output: 'to readnoteother',
    })
    expect(ran.output).not.toContain('secret')
    expect(project.read('allowed/write/file')).toBe('x\n')
    expect(project.read('allowed/read/file')).toBe('to read')
  })

  it('refuses a project that is the home itself', async () => {
    await expect(project.open({ root: project.home })).rejects.toThrow(/holds your home folder/)
  })
})

describe('what a program in a box can change', () => {
  it('S1-47 the worst it can do harms only the box', async () => {
    const name = `ralph-canary-${process.pid}`
    const canary = mkdtempSync(join(tmpdir(), 'ralph-outside-'))
    const beside = project.write(`beside/${name}`, 'x')
    const inHome = project.write(`home/${name}`, 'x')
    writeFileSync(join(canary, name), 'x')
    const inside = project.write(`project/${name}`, 'x')
    const engine = project.write(`project/.ralph/${name}`, 'x')
    await project.run(
      box,
      `find / -name '${name}' -delete; rm -rf ${canary} ${project.home}/* ${project.base}/beside`,
    )
    expect([join(canary, name), beside, inHome, engine].map(path => existsSync(path))).toEqual([
      true,
      true,
      true,
      true,
    ])
    // Its own project it may spoil; that is put back by the engine.
    expect(existsSync(inside)).toBe(false)
    rmSync(canary, { recursive: true })
  })

  it.each([
    ['the system', 'touch /usr/x /usr/bin/x'],
    ['the configuration of the machine', 'echo x >> /etc/passwd'],
    ['what the kernel does when a program crashes', 'test -w /proc/sys/kernel/core_pattern'],
    ['the engine of the machine', 'test -w /proc/sysrq-trigger'],
    ['mounts', 'mount -t tmpfs none /usr'],
    ['its own walls, by further namespaces', 'unshare -Ur true'],
  ])('not %s', async (_, script) => {
    expect((await project.run(box, script)).exit).not.toBe(0)
  })

  it('not what git runs, nor where git looks for it, nor the engine’s files', async () => {
    const tries = [
      'echo x > .git/hooks/pre-commit',
      'mv .git/hooks .git/old',
      'git config core.fsmonitor /tmp/evil',
      'echo x >> .git/config',
      'echo x > .git/info/attributes',
      'mv .git .git-old',
      'rm -rf .git/hooks .git/info',
      'echo x > .ralph/state',
      'mv .ralph .other',
      'touch .ralph/new',
    ]
    for (const script of tries)
      expect({ script, exit: (await project.run(box, script)).exit }).not.toMatchObject({ exit: 0 })
    expect(project.git('config', '--list')).not.toContain('fsmonitor')
    expect(project.read('project/.ralph/state')).toBe('engine')
    // This one cannot be kept from it, so it does not last.
    await project.run(
      box,
      'mkdir evil; echo "[core] fsmonitor = evil" > evil/config; echo ../evil > .git/commondir; rm -r evil',
    )
    expect(existsSync(join(project.root, '.git/commondir'))).toBe(false)
  })

  it('the project: it edits, adds and commits as the user, and the files belong to him', async () => {
    const ran = await project.run(
      box,
      'echo more >> readme.md; mkdir src; echo x > src/new; git add -A && git commit -qm work',
    )
    expect(ran).toMatchObject({ exit: 0 })
    expect(project.git('log', '-1', '--format=%an <%ae> %s')).toBe(
      'Ann "A" Agent <ann@example.invalid> work\n',
    )
    expect(project.git('status', '--porcelain', '--untracked-files=all')).not.toContain('src/')
    const owner = statSync(join(project.root, 'src/new'))
    expect([owner.uid, owner.gid]).toEqual([process.getuid?.(), process.getgid?.()])
    expect(statSync(join(project.root, '.git/refs/heads/main')).uid).toBe(process.getuid?.())
  })

  it('nothing of the project when it only reads, but it has a home and temporary files', async () => {
    const readOnly = { readOnly: true }
    expect(
      await output(
        'git status --short >/dev/null && git log -1 --format=%H >/dev/null && echo ok && touch ~/x /tmp/x && echo home',
        readOnly,
      ),
    ).toBe('ok\nhome')
    for (const script of [
      'echo x > new',
      'echo x > .git/x',
      'git commit --allow-empty -qm x',
      'rm readme.md',
    ])
      expect((await project.run(box, script, readOnly)).exit).not.toBe(0)
    expect(existsSync(join(project.root, 'new'))).toBe(false)
  })
})

describe('a submodule of the project', () => {
  it('is worked in, but what git runs there cannot be changed or replaced', async () => {
    const own = createBoxProject()
    const source = join(own.base, 'source')
    execFileSync('git', ['clone', '-q', own.root, source])
    own.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', source, 'deps/sub')
    own.git('commit', '-qm', 'with a submodule')
    const inside = await own.open()
    const tries = [
      'git -C deps/sub config core.fsmonitor evil',
      'mv .git/modules/deps/sub .git/modules/deps/old',
      'echo x > .git/modules/deps/sub/hooks/post-checkout',
      'rm -rf .git/modules/deps/sub/config',
    ]
    for (const script of tries)
      expect({ script, exit: (await own.run(inside, script)).exit }).not.toMatchObject({ exit: 0 })
    const work = 'cd deps/sub && echo x > new && git add -A && git commit -qm "in the submodule"'
    expect(await own.run(inside, work)).toMatchObject({ exit: 0 })
    await own.cleanup()
  })
})

describe('a worktree of the project', () => {
  it('is written and committed in, the project is not', async () => {
    const place = join(project.root, '.ralph/worktrees/task')
    project.git('worktree', 'add', '-q', '-b', 'ralph/task', place)
    project.git('worktree', 'add', '-q', '--detach', join(project.root, '.ralph/worktrees/other'))
    const at = { cwd: place }
    const ran = await project.run(
      box,
      'pwd; echo x > made && git add -A && git commit -qm "in the worktree" && git status --short',
      at,
    )
    expect(ran).toMatchObject({ exit: 0, output: `${place}\n` })
    expect(project.git('log', '-1', '--format=%s', 'ralph/task')).toBe('in the worktree\n')
    const tries = [
      `echo x > ${project.root}/readme.md`,
      `echo x > ${project.root}/.ralph/worktrees/other/x`,
      `echo x > ${project.root}/.ralph/state`,
      `echo x > ${project.root}/.git/HEAD`,
      `echo x > ${project.root}/.git/worktrees/other/HEAD`,
      'echo "gitdir: /tmp/evil" > .git',
      'rm .git',
      'echo /tmp/evil > "$(git rev-parse --git-dir)/commondir"',
      `touch ${project.root}/.git/hooks/pre-commit`,
      'git config user.name evil',
    ]
    for (const script of tries)
      expect({ script, exit: (await project.run(box, script, at)).exit }).not.toMatchObject({ exit: 0 })
    // The last word on which folder is a worktree has the repository.
    writeFileSync(join(project.root, '.ralph/worktrees/other/.git'), `gitdir: ${project.base}/beside\n`)
    project.write('beside/file', 'x')
    await project.run(box, `echo y > ${project.base}/beside/file`, {
      cwd: join(project.root, '.ralph/worktrees/other'),
    })
    expect(readFileSync(join(project.base, 'beside/file'), 'utf8')).toBe('x')
  })

  it('may be the project itself', async () => {
    const place = join(project.base, 'linked')
    project.git('worktree', 'add', '-q', '-b', 'linked', place)
    const linked = await project.open({ root: place, home: join(place, '.ralph') })
    const ran = await project.run(
      linked,
      'echo x > made && git add -A && git commit -qm "in a linked project"',
      { cwd: place },
    )
    expect(ran).toMatchObject({ exit: 0 })
    expect((await project.run(linked, `cat ${project.root}/readme.md`, { cwd: place })).exit).not.toBe(0)
    expect((await project.run(linked, `echo x > ${project.root}/.git/config`, { cwd: place })).exit).not.toBe(
      0,
    )
    expect(project.git('log', '-1', '--format=%s', 'linked')).toBe('in a linked project\n')
  })

  it('or a part of a repository: the rest is read, and commits work', async () => {
    project.write('project/part/file', 'x')
    const part = join(project.root, 'part')
    const inPart = await project.open({ root: part, home: join(part, '.ralph') })
    const ran = await project.run(inPart, 'echo y > file && git add file && git commit -qm "in a part"', {
      cwd: part,
    })
    expect(ran).toMatchObject({ exit: 0 })
    expect((await project.run(inPart, 'echo x > ../readme.md', { cwd: part })).exit).not.toBe(0)
  })
})
