import { describe, expect, it } from 'vitest'
import { cliNames, findAgent } from '../../../src/agents/registry.ts'
import { resolveSettings } from '../../../src/config/settings.ts'
import { commonNames, templateProblems } from '../../../src/core/prompt.ts'
import { newTaskState, type TaskState } from '../../../src/core/state.ts'
import { renderPrompt } from '../../../src/engine/render-prompt.ts'
import { hasSlashCommands } from '../../../src/layouts/fix-plan/slash-commands.ts'
import { fixPlan } from '../../../src/layouts/fix-plan.ts'
import { taskText } from '../../helpers/stepwise-project.ts'
import { itClaimsNothing, plainFacts } from './prompt-contract.ts'
import { tempProject } from './temp-project.ts'

const steps = ['implementation', 'review', 'fix', 'cleanup', 'sync']
const path = 'docs/specs/001-feature/tasks/TASK-037.md'
const report = 'docs/specs/001-feature/tasks/TASK-037--review.md'

function prompt(
  step: string,
  options: {
    agent?: string
    told?: Record<string, unknown>
    state?: Partial<TaskState>
    files?: Record<string, string>
  } = {},
): string {
  const { agent = 'codex', told = {}, state = {}, files = {} } = options
  const text = taskText({ id: 'TASK-037', title: 'Implement caching layer' })
  const root = tempProject({ [path]: text, ...files })
  const settings = resolveSettings({ preset: 'stepwise', agent }, {})
  const project = { root, settings: { slashCommands: agent === 'claude', ...told } }
  const [task] = fixPlan.read(project).tasks
  if (!task) throw new Error('no task')
  return renderPrompt(
    {
      ...{ layout: fixPlan, project, settings, verify: ['npm test'], run: { iterations: 0 } },
      rules: { workflow: settings.workflow, verify: ['npm test'] },
    },
    { ...newTaskState(task), ...state },
    step,
  )
}

describe('the prompts of the steps', () => {
  it('S0-43 S0-47 S0-55 S0-59 S0-63 with Claude Code it is the command and nothing else', () => {
    expect(steps.map(step => prompt(step, { agent: 'claude' }))).toEqual([
      `/specs:task-implementation --lang=spring --task="${path}"\n`,
      `/specs:task-review --no-confirm --lang=spring "${path}"\n`,
      `/specs:task-implementation --lang=spring --task="${path}"\n`,
      `/specs:code-cleanup --no-confirm --lang=spring --task="${path}"\n`,
      '/specs:spec-sync-with-code docs/specs/001-feature/ --after-task=TASK-037\n',
    ])
  })

  it('uses the commands only where they are installed, and only with Claude Code', () => {
    const bare = { root: tempProject(), settings: {} }
    expect(hasSlashCommands({ ...bare, settings: { slashCommands: true } }, 'codex')).toBe(false)
    const files = tempProject({ '.claude/commands/specs/task-review.md': 'x' })
    expect(hasSlashCommands({ root: files, settings: {} }, 'claude')).toBe(true)
    expect(hasSlashCommands({ root: files, settings: { slashCommands: false } }, 'claude')).toBe(false)
    const enabled = { enabledPlugins: { 'developer-kit-specs@developer-kit': true } }
    const plugin = tempProject({ '.claude/settings.json': JSON.stringify(enabled) })
    expect(hasSlashCommands({ root: plugin, settings: {} }, 'claude')).toBe(true)
  })

  it('S0-44 other agents are told to read the task file and implement it', () => {
    const text = prompt('implementation')
    expect(text).toContain(`Read the task file \`${path}\``)
    expect(text).toContain('Implement it by writing and editing files (spring)')
    expect(text).toContain('# Implement caching layer')
    expect(text).toContain('run `npm test`')
  })

  it('S0-48 a reviewer is told to read the criteria, check each, run the tests and review the code', () => {
    const text = prompt('review')
    expect(text).toMatch(
      /1\. Read the acceptance criteria[\s\S]*2\. Check each criterion[\s\S]*3\. Run the tests[\s\S]*4\. Do a code review/u,
    )
    expect(text).toContain(`write your report to \`${report}\``)
    expect(text).toContain('verdict: pass or fail')
  })

  it('S0-54 S0-56 a fixer is given the report, by path and by text', () => {
    const text = prompt('fix', { files: { [report]: '---\nverdict: fail\n---\n\n1. `a.ts:3`: it leaks\n' } })
    expect(text).toContain(`Read the review report \`${report}\``)
    expect(text).toContain('> 1. `a.ts:3`: it leaks')
    expect(text).toContain('each finding is addressed')
  })

  it('S0-60 a cleaner has the four points of the seed', () => {
    const text = prompt('cleanup')
    for (const part of [
      'Remove debug logs and temporary comments',
      'Optimise imports',
      'Format the code',
      'Verify the documentation',
    ])
      expect(text).toContain(part)
  })

  it('S0-64 C-24 a syncer reads the decision log, compares, and proposes or updates', () => {
    const proposes = prompt('sync')
    expect(proposes).toContain('docs/specs/001-feature/decision-log.md')
    expect(proposes).toContain('Compare the implementation with the spec')
    expect(proposes).toContain('docs/specs/001-feature/_ralph_loop/sync/TASK-037.md')
    expect(prompt('sync', { told: { applySpecSync: true } })).toContain('update the files of the spec itself')
  })

  it('S0-02 S0-T09 each of the five agents gets a command line and the right prompt for each step', async () => {
    expect([...cliNames].sort()).toEqual(['claude', 'codex', 'copilot', 'gemini', 'opencode'])
    for (const name of cliNames) {
      const agent = await findAgent(name)
      for (const step of steps) {
        const text = prompt(step, { agent: name })
        const { argv, stdin } = agent.command({
          ...{
            promptFile: '/tmp/prompt.md',
            cwd: '/tmp',
            readOnly: false,
            extraArgs: [],
            env: {},
            root: false,
          },
        })
        expect([name, argv[0]?.split('/').pop()]).toEqual([name, name])
        // Nobody waits for an answer, and the prompt never stands among the arguments (S0-04, H-28).
        expect([name, step, stdin === 'prompt' || argv.some(arg => arg.includes('/tmp/prompt.md'))]).toEqual([
          name,
          step,
          true,
        ])
        expect([name, step, text.startsWith('/specs:')]).toEqual([name, step, name === 'claude'])
        expect(text).toContain('TASK-037')
        if (name !== 'claude') expect(text.length).toBeGreaterThan(400)
      }
    }
  })

  it('S0-04 asks for no confirmation anywhere', () => {
    for (const step of steps) {
      expect(prompt(step)).not.toMatch(/do you want|proceed\?|\bshall I\b/iu)
      expect(prompt(step)).toMatch(/nobody can answer questions|ask for no confirmation/iu)
    }
  })

  it('knows every name in its templates', () => {
    const own = Object.keys(
      fixPlan.values?.(
        { root: tempProject(), settings: {} },
        { ...plainFacts, label: 'TASK-037', stage: 'fix' },
        {
          state: newTaskState(someTask),
          rules: { workflow: resolveSettings({ preset: 'stepwise' }, {}).workflow, verify: 'none' },
          stage: 'fix',
        },
      ) ?? {},
    )
    for (const [name, text] of Object.entries(fixPlan.templates))
      expect([name, templateProblems(text, [...commonNames, ...own])]).toEqual([name, []])
  })

  it('stays of the same size however long the history is', () => {
    const failure = {
      attempt: 1,
      stage: 'review',
      reason: 'x'.repeat(5000),
      detail: 'line\n'.repeat(3000),
      fault: null,
      at: 1,
    }
    const state = (count: number) => ({
      recent: Array(count).fill(failure),
      learnings: Array.from({ length: count }, (_, index) => `learnt ${index}`),
      steering: Array(Math.min(5, count)).fill('s'),
    })
    for (const step of steps) expect(prompt(step, { state: state(500) }).length).toBeLessThan(30_000)
    const learnings = Array.from({ length: 500 }, (_, index) => ({
      text: `learnt ${index} ${'y'.repeat(500)}`,
    }))
    const plan = JSON.stringify({ state: { step: 'fix' }, learnings })
    const files = {
      'docs/specs/001-feature/_ralph_loop/fix_plan.json': plan,
      [report]: 'finding\n'.repeat(20_000),
    }
    expect(prompt('fix', { files }).length).toBeLessThan(30_000)
  })

  itClaimsNothing('an agent that repeats its prompt, or any part of it, claims nothing', {
    id: 'TASK-037',
    promises: ['COMPLETE'],
    stages: steps,
    prompt: (step, { reason, detail, some, more, one }) =>
      prompt(step, {
        state: {
          recent: [{ attempt: 1, stage: 'review', reason, detail, fault: null, at: 1 }],
          learnings: some,
          steering: more,
        },
        files: { [report]: one },
      }),
    runs: 200,
    // Its templates have both tags of LEARN in one line: a learning, for who does not know the prompt.
  })
})

const someTask = {
  id: '001-feature/TASK-037',
  title: '',
  spec: path,
  needs: [],
  order: 0,
  verify: [],
  allows: [],
}
