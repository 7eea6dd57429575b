import { chmodSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { pathWithout } from '../helpers/path-without.ts'
import { ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import { honest, specPath, state, storyProject } from '../helpers/story-project.ts'

let project: TestProject
afterEach(() => project?.cleanup())

/** Verify each story's own work: the check takes its list from the environment, so stories are checked by front matter. */
const perStory = 'none'

describe('a run over several stories', () => {
  it('S4-T01 S4-01 S4-31 S4-33 S4-48 does all three in order and ends with ALL COMPLETE!', async () => {
    project = storyProject({ stories: ['1.2', '1.10', '1.1'], script: [{ do: honest() }], verify: perStory })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(result.stdout).toContain('ALL COMPLETE!')
    expect(state(project)).toEqual({
      completed_stories: ['1.1', '1.2', '1.10'],
      current_story: null,
      retry_count: 0,
    })
    const lines = project.read('progress.txt').trim().split('\n')
    expect(lines.map(line => line.replace(/ - \d{4}-.*$/, ''))).toEqual([
      '[DONE] Story 1.1 - Answer 1 1',
      '[DONE] Story 1.2 - Answer 1 2',
      '[DONE] Story 1.10 - Answer 1 10',
    ])
    for (const id of ['1.1', '1.2', '1.10']) expect(project.read(specPath(id))).toContain('status: done')
    expect(project.git('log', '--format=%s').trim().split('\n')).toEqual([
      'feat: answer 1.10',
      'feat: answer 1.2',
      'feat: answer 1.1',
      'first',
    ])
  })

  it('S4-T02 S4-49 S4-51 C-03 retries twice, then done; the counter goes 1, 2, 0', async () => {
    project = storyProject({
      script: [
        { on: { attempt: 1 }, do: [{ run: 'cp .ralph/state.json seen-1.json' }, { fail: 'first reason' }] },
        { on: { attempt: 2 }, do: [{ run: 'cp .ralph/state.json seen-2.json' }, { fail: 'second reason' }] },
        { do: [{ run: 'cp .ralph/state.json seen-3.json' }, ...honest()] },
      ],
      files: { '.gitignore': 'seen-*.json\n' },
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    const counts = [1, 2, 3].map(n => JSON.parse(project.read(`seen-${n}.json`)))
    expect(counts.map(one => one.retry_count)).toEqual([0, 1, 2])
    expect(counts.map(one => one.current_story)).toEqual(['1.1', '1.1', '1.1'])
    expect(state(project).retry_count).toBe(0)
    const lines = project.read('progress.txt').trim().split('\n')
    expect(lines[0]).toMatch(/^\[FAIL\] Story 1\.1 - first reason - .* \(attempt 1\/3\)$/)
    expect(lines[1]).toMatch(/^\[FAIL\] Story 1\.1 - second reason - .* \(attempt 2\/3\)$/)
    expect(lines[2]).toMatch(/^\[DONE\] Story 1\.1 /)
    expect((await ralph(project, ['status', '--json'])).stdout).toContain('"iterations": 3')
  })

  it('S4-T03 S4-06 S4-50 S4-61 halts after three tries, with the banner, the hint and the state kept', async () => {
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [{ do: [{ fail: 'cannot' }] }],
      verify: perStory,
    })
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain('MAX RETRIES EXCEEDED')
    expect(result.stdout).toContain('Human intervention required.')
    expect(result.stdout).toContain('ralph run -s 1.1')
    expect(state(project)).toEqual({ completed_stories: [], current_story: '1.1', retry_count: 3 })
    expect(project.read('progress.txt').match(/\[FAIL\]/g)).toHaveLength(3)
  })

  it('H-26 a new run begins anew with the halted story; --keep-retries does not', async () => {
    project = storyProject({
      script: [{ on: { call: 1 }, do: [{ fail: 'not yet' }] }, { do: honest() }],
    })
    expect((await ralph(project, ['run', '--attempts', '1'])).code).toBe(1)
    const kept = await ralph(project, ['run', '--attempts', '1', '--keep-retries'])
    expect(kept.code).toBe(1)
    expect(state(project).completed_stories).toEqual([])
    project.write('agent.json', JSON.stringify([{ do: honest() }]))
    project.git('commit', '-qam', 'a better agent')
    const again = await ralph(project, ['run'])
    expect(again.code, again.stdout).toBe(0)
  })

  it('S4-36 S4-46 S4-47 writes the current story before the agent starts', async () => {
    project = storyProject({
      script: [{ do: [{ 'wait-for': 'go' }, ...honest()] }],
      files: { '.gitignore': 'go\n' },
    })
    const running = startRalph(project, ['run'])
    await until(
      'the current story',
      () => project.exists('.ralph/state.json') && state(project).current_story === '1.1',
    )
    expect(state(project)).toEqual({ completed_stories: [], current_story: '1.1', retry_count: 0 })
    project.write('go', '')
    expect((await running.ended).code).toBe(0)
  })

  it('S4-T04 S4-41 timeout, crash, no signal and another story’s signal are failures with their reasons', async () => {
    project = storyProject({
      script: [
        { on: { attempt: 1 }, do: [{ hang: true }] },
        { on: { attempt: 2 }, do: [{ say: 'oops' }, { exit: 7 }] },
        { on: { attempt: 3 }, do: [{ say: 'I think I am finished.' }] },
        { on: { attempt: 4 }, do: [{ done: '1.2' }] },
        { on: { attempt: 5 }, do: [{ exit: 124 }] },
        { do: honest() },
      ],
      config: 'limits: { timeout: 1s }',
    })
    const result = await ralph(project, ['run', '--attempts', '6'])
    expect(result.code, result.stdout).toBe(0)
    const reasons = project
      .read('progress.txt')
      .split('\n')
      .filter(line => line.startsWith('[FAIL]'))
    expect(reasons[0]).toContain('Timeout after 1s')
    expect(reasons[1]).toContain('Agent exited with code 7')
    expect(reasons[2]).toContain('No completion signal in output')
    expect(reasons[3]).toContain('Signal mismatch: DONE 1.2, expected 1.1')
    expect(reasons[4]).toContain('Timeout')
  })

  it('S4-T05 S4-42 S4-44 S4-45 S4-57 legacy marks, learnings, and a learning alone', async () => {
    project = storyProject({
      stories: ['1.1', '1.2', '1.3'],
      verify: perStory,
      script: [
        { on: { task: '1.1', attempt: 1 }, do: [{ learn: 'only this' }] },
        { on: { task: '1.1' }, do: [{ write: { path: 'a', text: 'a' } }, { say: '[FAIL]\n[DONE]' }] },
        {
          on: { task: '1.2', attempt: 1 },
          do: [{ write: { path: 'b', text: 'b' } }, { say: 'it is [DONE] now' }],
        },
        {
          on: { task: '1.2' },
          do: [{ write: { path: 'b', text: 'b' } }, { learn: 'one' }, { learn: 'two' }, { say: '[DONE]' }],
        },
        { do: [{ say: '[FAIL]' }] },
      ],
    })
    const result = await ralph(project, ['run', '--attempts', '2'])
    expect(result.code).toBe(1)
    expect(state(project).completed_stories).toEqual(['1.1', '1.2'])
    const lines = project.read('progress.txt').split('\n')
    expect(lines[0]).toMatch(/^\[LEARN\] Story 1\.1 - only this - /)
    expect(lines[1]).toContain('No completion signal in output')
    expect(lines.filter(line => line.startsWith('[LEARN] Story 1.2'))).toHaveLength(2)
    expect(lines.find(line => line.startsWith('[FAIL] Story 1.3'))).toContain('[FAIL]')
  })

  it('H-27 legacy marks can be switched off', async () => {
    project = storyProject({
      verify: perStory,
      config: 'legacySignals: false',
      script: [{ do: [{ write: { path: 'a', text: 'a' } }, { say: '[DONE]' }] }],
    })
    const result = await ralph(project, ['run', '--attempts', '1'])
    expect(result.code).toBe(1)
    expect(project.read('progress.txt')).toContain('No completion signal in output')
  })
})

describe('flags', () => {
  it('S4-T09 S4-11 S4-32 -s runs only that story, and stops when it is done (H-25)', async () => {
    project = storyProject({ stories: ['1.1', '1.2', '1.3'], script: [{ do: honest() }], verify: perStory })
    const result = await ralph(project, ['run', '-s', '1.2'])
    expect(result.code, result.stdout).toBe(0)
    expect(state(project).completed_stories).toEqual(['1.2'])
    const again = await ralph(project, ['run', '-s', '1.2'])
    expect(again.code).toBe(0)
    expect(project.git('log', '--format=%s', '-1').trim()).toBe('feat: answer 1.2')
    expect((await ralph(project, ['run', '-s', '9.9'])).code).toBe(2)
  })

  it('S4-12 -r skips all stories before it', async () => {
    project = storyProject({ stories: ['1.1', '1.2', '1.3'], script: [{ do: honest() }], verify: perStory })
    expect((await ralph(project, ['run', '-r', '1.2'])).code).toBe(0)
    expect(state(project).completed_stories).toEqual(['1.2', '1.3'])
  })

  it('S4-08 S4-02 -n stops after n attempts with exit 1, and says how to go on', async () => {
    project = storyProject({ stories: ['1.1', '1.2', '1.3'], script: [{ do: honest() }], verify: perStory })
    const result = await ralph(project, ['run', '-n', '2'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain('2 of 2 iterations used')
    expect(state(project).completed_stories).toEqual(['1.1', '1.2'])
    expect((await ralph(project, ['run'])).code).toBe(0)
  })

  it('S4-16 flag > environment > configuration > preset', async () => {
    project = storyProject({ script: [{ do: honest() }], config: 'limits: { iterations: 7, timeout: 70s }' })
    const banner = async (args: string[], env: Record<string, string> = {}) =>
      (await ralph(project, ['run', '-s', '1.1', ...args], { env })).stdout
    expect(await banner([])).toMatch(/Iterations +7 /)
    expect(await banner([], { RALPH_MAX_ITERATIONS: '8' })).toMatch(/Iterations +8 /)
    expect(await banner(['-n', '9', '-t', '90'], { RALPH_MAX_ITERATIONS: '8' })).toMatch(
      /Iterations +9 .*\n.*Timeout +90s/,
    )
  })

  it('S4-05 S4-13 S4-65 the banner shows iterations, timeout, log and what was asked for', async () => {
    project = storyProject({ stories: ['1.1', '1.2'], script: [{ do: honest() }], verify: perStory })
    const plain = (await ralph(project, ['run', '-s', '1.1'])).stdout
    expect(plain).toMatch(/Iterations +45 /)
    expect(plain).toMatch(/Timeout +1800s/)
    expect(plain).toMatch(/Log +ralph\.log/)
    expect(plain).toMatch(/Story +1\.1/)
    const from = (await ralph(project, ['run', '-r', '1.2', '-t', '3600', '-l', 'other.log'])).stdout
    expect(from).toMatch(/Timeout +3600s/)
    expect(from).toMatch(/From +1\.2/)
    expect(project.read('other.log')).toContain('Story 1.2 done')
  })

  it('S4-14 S4-25 the log file has every message with its time, and the terminal has them too', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    const { stdout } = await ralph(project, ['run'])
    const lines = project.read('ralph.log').trim().split('\n')
    expect(lines.length).toBeGreaterThan(5)
    for (const line of lines) expect(line).toMatch(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] /)
    for (const line of lines) expect(stdout).toContain(line.slice(22).trim())
  })

  it('S4-T08 S4-04 S4-10 S4-38 H-25 the dry run shows 20 lines of each prompt, calls no agent, writes nothing', async () => {
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [{ do: [{ write: { path: 'called', text: '' } }] }],
    })
    const before = project.git('status', '--porcelain')
    for (const flag of ['-d', '--dry-run']) {
      const result = await ralph(project, ['run', flag])
      expect(result.code).toBe(0)
      expect(result.stdout.match(/You are Ralph, an autonomous implementation agent/g)).toHaveLength(2)
      const first = result.stdout.slice(result.stdout.indexOf('You are Ralph'), result.stdout.indexOf('…'))
      expect(first.trimEnd().split('\n')).toHaveLength(20)
    }
    expect(project.git('status', '--porcelain')).toBe(before)
    expect(project.exists('.ralph')).toBe(false)
    expect(project.exists('called')).toBe(false)
  })

  it('S4-T10 S4-03 S4-09 S4-40 verbose shows the agent’s output as it comes, quiet does not; both keep it', async () => {
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [{ do: [{ say: 'a remark of the agent' }, ...honest()] }],
      verify: perStory,
    })
    const quiet = await ralph(project, ['run', '-s', '1.1'])
    expect(quiet.stdout).not.toContain('a remark of the agent')
    expect((await ralph(project, ['show', '--output'])).stdout).toContain('a remark of the agent')
    const loud = await ralph(project, ['run', '-v'])
    expect(loud.stdout).toContain('a remark of the agent')
    expect((await ralph(project, ['show', '--output'])).stdout).toContain('a remark of the agent')
  })

  it('S4-15 S4-T07 -h prints the usage with every flag of the seed', async () => {
    project = storyProject({ script: [] })
    const { code, stdout } = await ralph(project, ['run', '-h'])
    expect(code).toBe(0)
    for (const flag of ['-n', '-v', '-d', '-s', '-r', '-t', '-l', '-h'])
      expect(stdout).toContain(`  ${flag}, --`)
    expect(stdout).toContain('Examples:')
  })

  it('wrong usage is exit 2 with one line that names the mistake', async () => {
    project = storyProject({ script: [] })
    const wrong: [string[], RegExp][] = [
      [['run', '--agnet', 'x'], /unknown option '--agnet'.*\n.*Did you mean --agent/i],
      [['run', '-n', 'many'], /expected a whole number/],
      [['run', '-t', 'soon'], /expected a duration/],
      [['rnu'], /unknown command 'rnu'/],
      [['run', '--preset', 'nope'], /unknown preset 'nope'/],
      [['run', '--agent', 'nope'], /no agent named 'nope'/],
      [['run', '-C', 'nowhere'], /no folder nowhere/],
      [['-C', 'nowhere', 'run'], /no folder nowhere/],
    ]
    for (const [args, message] of wrong) {
      const { code, stderr } = await ralph(project, args)
      expect(code, args.join(' ')).toBe(2)
      expect(stderr).toMatch(message)
      expect(stderr).not.toMatch(/\n\s+at /)
    }
  })
})

describe('start-up', () => {
  it('S4-T07 S4-29 S4-63 each prerequisite is checked in order, with exit 1 and the fix', async () => {
    project = storyProject({ script: [{ do: honest() }], config: '' })
    project.write('ralph.config.yaml', 'preset: stories\nverify: none\nsandbox: none\n')
    project.git('rm', '-rq', '--cached', 'specs', 'CLAUDE.md')
    project.git('commit', '-qam', 'less')
    project.git('clean', '-fdq')
    const noAgent = await ralph(project, ['run'])
    expect(noAgent.code).toBe(1)
    expect(noAgent.stderr).toMatch(/the agent 'claude' is not installed/)
    expect(noAgent.stderr).toContain('npm install -g @anthropic-ai/claude-code')
    const bin = fakeClaude(project, 'cat > /dev/null')
    const noContext = await ralph(project, ['run'], { env: { PATH: bin } })
    expect(noContext.code).toBe(1)
    expect(noContext.stderr).toMatch(/CLAUDE\.md/)
    project.write('CLAUDE.md', '# x\n')
    const noSpecs = await ralph(project, ['run'], { env: { PATH: bin } })
    expect(noSpecs.code).toBe(1)
    expect(noSpecs.stderr).toMatch(/specs/)
  })

  it('S4-30 S4-37 S4-39 S4-52 S4-56 H-28 claude gets the whole prompt on stdin, headless and without asking', async () => {
    const spec = `${'x'.repeat(300_000)}\n`
    project = storyProject({
      script: [],
      verify: perStory,
      config: '',
      files: { 'specs/epic-1/story-1.1-big.md': `---\nstatus: pending\n---\n${spec}` },
    })
    project.git('rm', '-q', specPath('1.1'))
    project.write('ralph.config.yaml', 'agent: claude\nverify: none\nsandbox: none\n')
    project.write('.gitignore', 'got-*\n')
    project.git('add', '-A', '--', 'ralph.config.yaml', '.gitignore')
    project.git('commit', '-qm', 'claude')
    const answer = JSON.stringify({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: '<ralph>DONE 1.1</ralph>',
      total_cost_usd: 0.25,
      usage: { input_tokens: 5, output_tokens: 6 },
    })
    const bin = fakeClaude(
      project,
      `printf '%s\\n' "$@" > got-args; cat > got-prompt; echo x > made.txt; echo '${answer}'`,
    )
    const result = await ralph(project, ['run', '--', '--effort', 'high'], { env: { PATH: bin } })
    expect(result.code, result.stdout + result.stderr).toBe(0)
    const args = project.read('got-args').split('\n')
    expect(args).toContain('-p')
    expect(args).toContain('--dangerously-skip-permissions')
    expect(args.slice(-3, -1)).toEqual(['--effort', 'high'])
    const prompt = project.read('got-prompt')
    expect(prompt).toMatch(/^You are Ralph, an autonomous implementation agent/)
    expect(prompt).toContain(spec.trim())
    expect(prompt).toContain('git checkout .')
    expect(result.stdout).toContain('$0.25')
  })

  it('S4-23 S4-27 S4-64 S4-66 the state is rebuilt from progress.txt when .ralph is lost', async () => {
    project = storyProject({ stories: ['1.1', '1.2', '1.3'], script: [{ do: honest() }], verify: perStory })
    expect((await ralph(project, ['run', '-n', '2'])).code).toBe(1)
    const { rmSync } = await import('node:fs')
    rmSync(path.join(project.root, '.ralph'), { recursive: true })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(state(project).completed_stories).toEqual(['1.1', '1.2', '1.3'])
    expect(project.git('log', '--format=%s').trim().split('\n')).toHaveLength(4)
    expect(result.stdout).toContain('2 done before this journal')
  })

  it('S4-35 G-23 H-25 ids without a spec are listed at the start, the others are done, and the run is not complete', async () => {
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [{ do: honest() }],
      verify: perStory,
      files: { 'specs/order.txt': '1.1\n9.9\n1.2\n' },
    })
    const result = await ralph(project, ['run'])
    expect(result.stdout).toMatch(/1 story without a spec: 9\.9/)
    expect(state(project).completed_stories).toEqual(['1.1', '1.2'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain('no spec for 9.9')
  })

  it('C-11 G-18 a story before what it needs is a warning; --strict-deps makes it wait; a cycle is refused', async () => {
    const needs = (id: string, other: string) =>
      `---\nstatus: pending\ndepends_on: ["${other}"]\n---\n# ${id}\n\n## Acceptance criteria\n- [ ] x\n`
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [{ do: honest() }],
      verify: perStory,
      files: { [specPath('1.1')]: needs('1.1', '1.2') },
    })
    const warned = await ralph(project, ['run', '-n', '1'])
    expect(warned.stdout).toMatch(/story 1\.1 comes before 1\.2, which it depends on/)
    expect(state(project).completed_stories).toEqual(['1.1'])
    project.cleanup()
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [{ do: honest() }],
      verify: perStory,
      files: { [specPath('1.1')]: needs('1.1', '1.2') },
    })
    expect((await ralph(project, ['run', '--strict-deps'])).code).toBe(0)
    expect(state(project).completed_stories).toEqual(['1.2', '1.1'])
    project.cleanup()
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [{ do: honest() }],
      verify: perStory,
      files: { [specPath('1.1')]: needs('1.1', '1.2'), [specPath('1.2')]: needs('1.2', '1.1') },
    })
    const cycle = await ralph(project, ['run'])
    expect(cycle.code).toBe(1)
    expect(cycle.stderr).toMatch(/dependency cycle: 1\.1 → 1\.2 → 1\.1/)
    expect(project.exists('work')).toBe(false)
  })

  it('G-16 S4-67 warns when the iterations cannot reach the end of a backlog of 78 stories', async () => {
    const ids = Array.from({ length: 78 }, (_, n) => `${Math.floor(n / 7) + 1}.${(n % 7) + 1}`)
    project = storyProject({ stories: ids, script: [{ do: [{ fail: 'no' }] }], verify: perStory })
    const result = await ralph(project, ['run', '--attempts', '1'])
    expect(result.stdout).toMatch(/78 stories × ~1.5 iterations = ~117 needed, but at most 45 iterations/)
    expect(result.code).toBe(1)
  })

  it('S4-19 S4-20 S4-21 a project that the seed’s own script ran is opened and goes on', async () => {
    project = storyProject({ stories: ['1.1', '1.2'], script: [{ do: honest() }], verify: perStory })
    project.write(
      '.ralph/state.json',
      '{\n  "completed_stories": [\n    "1.1"\n  ],\n  "current_story": "1.2",\n  "retry_count": 2\n}\n',
    )
    project.write('progress.txt', '[DONE] Story 1.1 - Answer - 2026-01-30 10:00:00\n')
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(state(project)).toEqual({ completed_stories: ['1.1', '1.2'], current_story: null, retry_count: 0 })
    expect(project.read('progress.txt').split('\n')[0]).toBe(
      '[DONE] Story 1.1 - Answer - 2026-01-30 10:00:00',
    )
    expect(project.exists('work/1.1.txt')).toBe(false)
  })

  it('G-22 S4-29 no verify command to be found: the run refuses and says what to add', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    project.write('ralph.config.yaml', 'agent: { name: scripted, script: agent.json }\nsandbox: none\n')
    project.git('commit', '-qam', 'no verify')
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(2)
    expect(result.stderr).toMatch(/no verify command/)
    expect(result.stderr).toMatch(/verify: none/)
  })
})

describe('what the original script could do', () => {
  it('S4-17 each of its functions has its effect in a run', async () => {
    project = storyProject({
      stories: ['1.1', '1.2'],
      verify: perStory,
      script: [
        { on: { task: '1.1', attempt: 1 }, do: [{ learn: 'a lesson' }, { fail: 'a reason' }] },
        { do: [{ 'write-prompt': 'prompt-{{task}}.txt' }, ...honest()] },
      ],
      files: { '.gitignore': 'prompt-*\n' },
    })
    expect((await ralph(project, ['run', '-n', '2'])).code).toBe(1)
    const log = project.read('ralph.log')
    const progress = project.read('progress.txt')
    // log, handle_failure, append_learnings, mark_story_done, update_spec_status, get_story_title
    expect(log).toContain('a reason')
    expect(progress).toMatch(/^\[LEARN\] Story 1\.1 - a lesson/m)
    expect(progress).toMatch(/^\[FAIL\] Story 1\.1 - a reason/m)
    expect(progress).toMatch(/^\[DONE\] Story 1\.1 - Answer 1 1/m)
    expect(project.read(specPath('1.1'))).toContain('status: done')
    // get_story_spec_path, build_story_prompt
    expect(project.read('prompt-1.1.txt')).toContain('Write `answer 1.1` to work/1.1.txt.')
    expect(project.read('prompt-1.1.txt')).toContain('a lesson')
    // init_state, get_completed_stories, is_story_completed, find_next_story
    const second = await ralph(project, ['run'])
    expect(second.code).toBe(0)
    expect(second.stdout).not.toContain('Story 1.1 “')
    expect(second.stdout).toContain('Story 1.2 “')
  })

  it('S1-15 S1-33 without a sandbox the run goes on in direct mode with a warning; `--sandbox` refuses, an unknown one is named', async () => {
    project = storyProject({ script: [{ do: honest() }], config: '' })
    const env = { PATH: pathWithout(project, ['bwrap', 'sbx', 'docker']) }
    const required = await ralph(project, ['run', '--sandbox'], { env })
    expect(required.code).toBe(1)
    expect(required.stderr).toMatch(/sandbox: required, but none works here \(sbx: .*; bubblewrap: .*\)/)
    expect(required.stderr).toMatch(/→ .*--no-sandbox/)
    const named = await ralph(project, ['run', '--sandbox', 'bubblewrap'], { env })
    expect(named.code).toBe(1)
    expect(named.stderr).toMatch(/sandbox: bubblewrap, but it does not work here/)
    const unknown = await ralph(project, ['run', '--sandbox', 'moon'], { env })
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toMatch(/unknown sandbox 'moon'/)
    expect(project.exists('.ralph/runs')).toBe(false)
    project.write(
      'ralph.config.yaml',
      project.read('ralph.config.yaml').replace('sandbox: none', 'sandbox: auto'),
    )
    project.git('commit', '-qam', 'auto')
    const warned = await ralph(project, ['run'], { env })
    expect(warned.code, warned.stderr).toBe(0)
    expect(warned.stdout).toMatch(/no sandbox \(sbx: .*; bubblewrap: .*\): the agent runs with your rights/)
    expect(warned.stdout).toContain('no command guard watches scripted')
  })

  it('a cost limit stops the run; an agent that does not say its cost is named at the start', async () => {
    project = storyProject({
      stories: ['1.1', '1.2', '1.3'],
      verify: perStory,
      script: [{ do: [...honest(), { usage: { costUsd: 0.6, inputTokens: 10, outputTokens: 5 } }] }],
    })
    const result = await ralph(project, ['run', '--max-cost', '1'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain('$1.20 of $1.00 spent')
    expect(state(project).completed_stories).toEqual(['1.1', '1.2'])
    project.write('ralph.config.yaml', 'agent: { command: ["true"] }\nverify: none\nsandbox: none\n')
    project.git('commit', '-qam', 'other')
    const unknown = await ralph(project, ['run', '--max-cost', '1', '-n', '1', '--attempts', '1'])
    expect(unknown.stdout).toMatch(
      /command does not say what a call costs, so the limit of \$1 cannot stop it/,
    )
  })
})

describe('the tree', () => {
  it('G-19 S4-30 each attempt starts from a clean tree; the failed work is kept', async () => {
    project = storyProject({
      script: [
        {
          on: { attempt: 1 },
          do: [
            { append: { path: 'src/existing.txt', text: 'spoilt\n' } },
            { write: { path: 'left.txt', text: 'x' } },
            { git: 'add left.txt' },
            { crash: true },
          ],
        },
        { do: [{ run: 'git status --porcelain -- src left.txt > seen.txt' }, ...honest()] },
      ],
      files: { '.gitignore': 'seen.txt\n' },
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(project.read('seen.txt')).toBe('')
    const kept = project.git('for-each-ref', '--format=%(refname)', 'refs/ralph/failed').trim()
    expect(project.git('show', `${kept}:left.txt`)).toBe('x')
  })

  it('refuses when tracked files have uncommitted changes, and names the ways on', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    project.write('src/existing.txt', 'my own work\n')
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(result.stderr).toContain('src/existing.txt')
    expect(result.stderr).toContain('--worktree')
    expect(result.stderr).toContain('--in-place')
    expect(project.read('src/existing.txt')).toBe('my own work\n')
  })

  it('--in-place keeps them byte for byte, staged ones too, and never commits them', async () => {
    project = storyProject({
      script: [
        {
          on: { attempt: 1 },
          do: [{ write: { path: 'src/existing.txt', text: 'by the agent\n' } }, ...honest()],
        },
        { do: honest() },
      ],
      files: { 'src/staged.txt': 'old\n' },
    })
    project.write('src/existing.txt', 'my own work\n')
    project.write('src/staged.txt', 'staged\n')
    project.git('add', 'src/staged.txt')
    const result = await ralph(project, ['run', '--in-place'])
    expect(result.code, result.stdout).toBe(0)
    expect(project.read('src/existing.txt')).toBe('my own work\n')
    expect(project.git('diff', '--cached', '--name-only').trim()).toBe('src/staged.txt')
    expect(project.git('diff', '--name-only', '--', 'src').trim()).toBe('src/existing.txt')
    expect(project.git('show', '--name-only', '--format=', 'HEAD').trim()).toBe('work/1.1.txt')
  })

  it('G-02 --worktree works in a worktree and a branch of its own', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    project.write('src/existing.txt', 'my own work\n')
    const result = await ralph(project, ['run', '--worktree', 'night'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(project.git('branch', '--show-current').trim()).toBe('main')
    expect(project.exists('work/1.1.txt')).toBe(false)
    expect(project.git('show', 'ralph/night:work/1.1.txt')).toBe('answer 1.1\n')
    expect(project.read('src/existing.txt')).toBe('my own work\n')
  })

  it('G-21 --branch: one branch for the run, or one per story that builds on the one before', async () => {
    project = storyProject({ stories: ['1.1', '1.2'], script: [{ do: honest() }], verify: perStory })
    const head = project.git('rev-parse', 'main').trim()
    const result = await ralph(project, ['run', '--branch', 'ralph/{epic}/{story}'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(project.git('rev-parse', 'main').trim()).toBe(head)
    expect(project.git('log', '--format=%s', 'main..ralph/1/1.1').trim()).toBe('feat: answer 1.1')
    expect(project.git('log', '--format=%s', 'main..ralph/1/1.2').trim()).toBe(
      'feat: answer 1.2\nfeat: answer 1.1',
    )
    expect(project.git('branch', '--show-current').trim()).toBe('ralph/1/1.2')
    const taken = await ralph(project, ['retry', '1.1'])
    expect(taken.code).toBe(0)
    const elsewhere = await ralph(project, ['run', '--branch', 'main'])
    expect(elsewhere.code).toBe(1)
    expect(elsewhere.stderr).toContain('The branch main exists and is not at HEAD')
  })

  it('--clean-gates: what is proven only by an ignored file is not proven', async () => {
    const sly = [
      { write: { path: 'work/1.1.txt', text: 'answer 1.1\n' } },
      { write: { path: 'other.txt', text: 'x' } },
      { done: true },
    ]
    const forced = { run: 'git add -f work/1.1.txt other.txt && git commit -qm forced' }
    project = storyProject({
      script: [{ on: { attempt: 1 }, do: sly }, { do: [...sly.slice(0, 2), forced, { done: true }] }],
      files: { '.gitignore': 'work/\n' },
    })
    const result = await ralph(project, ['run', '--clean-gates'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(project.read('progress.txt')).toMatch(/\[FAIL\] Story 1\.1 - `sh check\.sh` still fails/)
    expect(project.git('show', 'HEAD:work/1.1.txt')).toBe('answer 1.1\n')
    expect(project.git('worktree', 'list').trim().split('\n')).toHaveLength(1)
  })

  it('an agent that forgets to commit: the engine commits what it changed, and only that', async () => {
    project = storyProject({
      script: [{ do: [{ write: { path: 'work/1.1.txt', text: 'answer 1.1\n' } }, { done: true }] }],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(project.git('show', '--name-only', '--format=%s', 'HEAD').trim()).toBe(
      'Story 1.1: Answer 1 1\n\nwork/1.1.txt',
    )
  })
})

function fakeClaude(at: TestProject, does: string): string {
  const folder = path.join(at.home, 'bin')
  at.write('../home/bin/claude', `#!/bin/sh\n${does}\n`)
  chmodSync(path.join(folder, 'claude'), 0o755)
  return `${folder}:${process.env.PATH}`
}
