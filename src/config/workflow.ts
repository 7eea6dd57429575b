import { UserError } from '../core/errors.ts'
import type { Edges, GitPolicy, Limits, SignalRule, Stage, Workflow } from '../core/workflow.ts'
import { workflowProblems } from '../core/workflow.ts'
import { withoutReview, withReviewCap, withTimes } from '../core/workflow-edit.ts'
import { presets } from '../presets/registry.ts'
import { defaultPreset } from './found-preset.ts'
import { configName } from './load.ts'
import type { Overrides } from './overrides.ts'
import type { Config } from './schema.ts'

/** The preset, with what the configuration and the command line change in it. Refused with every problem it has. */
export function resolveWorkflow(config: Config, given: Overrides): Workflow {
  const custom = given.preset === undefined || given.preset === config.preset
  const base = basePreset(config, given, custom)
  const laidOver = custom ? customised(base, config) : base
  const limited = withLimits(laidOver, config, given)
  const reviewed = given.skipReview ? withoutReview(limited) : limited
  const capped = given.reviewCap === undefined ? reviewed : withReviewCap(reviewed, given.reviewCap)
  const workflow = given.timeFactor === undefined ? capped : withTimes(capped, given.timeFactor)
  const problems = workflowProblems(workflow)
  if (problems.length > 0)
    throw new UserError(
      problems.map(problem => `${configName}: preset '${workflow.name}': ${problem}`).join('\n'),
      'Correct the stages; docs/custom-presets.md has an example.',
      2,
    )
  return workflow
}

function basePreset(config: Config, given: Overrides, custom: boolean): Workflow {
  const name = (custom ? config.extends : undefined) ?? given.preset ?? config.preset ?? defaultPreset
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined
  if (preset) return preset
  const own = config.extends === undefined ? ' A preset of your own needs `extends:`.' : ''
  throw new UserError(
    `unknown preset '${name}'`,
    `Choose one of: ${Object.keys(presets).join(', ')}.${own}`,
    2,
  )
}

function customised(base: Workflow, config: Config): Workflow {
  const { stages, start, onExhausted, select, iteration, stuck, consensus } = config
  return {
    ...base,
    name: config.extends === undefined ? base.name : (config.preset ?? `${base.name} (own)`),
    ...(start === undefined ? {} : { start }),
    ...(stages === undefined ? {} : { stages: layOver(base.stages, stages) }),
    ...(onExhausted === undefined ? {} : { onExhausted }),
    git: gitOf(base.git, config),
    ...(select === undefined ? {} : { select }),
    ...(iteration === undefined ? {} : { iteration }),
    ...(stuck === undefined ? {} : { stuck }),
    ...(consensus === undefined ? {} : { consensus }),
  }
}

function gitOf(base: GitPolicy, { onFail, onRetry, push }: Config): GitPolicy {
  const { onRetry: earlier, ...rest } = base
  const keep = (onRetry ?? earlier) === 'keep'
  return {
    ...rest,
    ...(onFail === undefined ? {} : { onFail }),
    ...(keep ? { onRetry: 'keep' as const } : {}),
    ...(push === undefined ? {} : { push }),
  }
}

type StageConfig = Exclude<NonNullable<Config['stages']>[string], null>

function layOver(base: Record<string, Stage>, own: NonNullable<Config['stages']>): Record<string, Stage> {
  const stages = { ...base }
  for (const [name, stage] of Object.entries(own)) {
    if (stage === null) delete stages[name]
    else stages[name] = toStage(name, Object.hasOwn(base, name) ? base[name] : undefined, stage)
  }
  return stages
}

function toStage(name: string, base: Stage | undefined, own: StageConfig): Stage {
  const kind = own.kind ?? base?.kind ?? 'agent'
  const earlier = base?.kind === kind ? base : undefined
  const on = edgesOf(name, base, own)
  const limit = own.limit ?? earlier?.limit
  const time = own.time || earlier?.time ? { ...earlier?.time, ...withoutGaps(own.time ?? {}) } : undefined
  const common = {
    on,
    ...(limit === undefined ? {} : { limit }),
    ...(time === undefined ? {} : { time }),
  }
  switch (kind) {
    case 'agent': {
      const from = earlier?.kind === 'agent' ? earlier : undefined
      const may = own.may ?? from?.may ?? 'write'
      const gate = own.gate ?? from?.gate
      const review = own.review ?? from?.review
      return {
        ...common,
        kind,
        role: own.role ?? from?.role ?? (may === 'read' ? 'reviewer' : 'implementer'),
        may,
        prompt: own.prompt ?? from?.prompt ?? name,
        signal: own.signal === undefined ? (from?.signal ?? defaultSignal(may)) : toSignal(own.signal),
        ...(gate === undefined ? {} : { gate }),
        ...(review === undefined ? {} : { review }),
      }
    }
    case 'commands':
      return {
        ...common,
        kind,
        gate: own.gate ?? (earlier?.kind === 'commands' ? earlier.gate : 'hard'),
      }
    case 'engine':
      return {
        ...common,
        kind,
        action: own.action ?? (earlier?.kind === 'engine' ? earlier.action : 'record'),
      }
    default:
      return kind satisfies never
  }
}

/** A reviewer says what it found; whoever works says it by ending well, and is believed by nobody. */
function defaultSignal(may: 'read' | 'write'): SignalRule {
  return may === 'read' ? { from: 'verdict' } : { from: 'exit' }
}

function edgesOf(name: string, base: Stage | undefined, own: StageConfig): Edges {
  const pass = own.on?.pass ?? base?.on.pass
  const fail = own.on?.fail ?? base?.on.fail ?? 'retry'
  const unclear = own.on?.unclear ?? base?.on.unclear
  if (pass === undefined)
    throw new UserError(
      `${configName}: stages.${name}.on.pass: where does it lead when it passes?`,
      'Name a stage, or one of the ends done, retry, exhausted, approve.',
      2,
    )
  return { pass, fail, ...(unclear === undefined ? {} : { unclear }) }
}

function toSignal(signal: NonNullable<StageConfig['signal']>): SignalRule {
  if (signal === 'tags') return { from: 'tags', legacy: false }
  if (typeof signal === 'string') return { from: signal }
  const { promise, contradictions = true, words, commit } = signal
  const must = words ? { must: { words, reason: `None of these was said: ${words.join(', ')}` } } : {}
  return {
    from: 'promise',
    text: promise,
    verify: { contradictions, ...must, ...(commit ? { fact: 'commit' as const } : {}) },
  }
}

function withLimits(preset: Workflow, config: Config, given: Overrides): Workflow {
  const { timeout: calls, idle: silence, gate, time, taskTime, ...counts } = config.limits ?? {}
  const timeout = given.timeout ?? calls
  const idle = given.idle ?? silence
  const stages = Object.entries(preset.stages).map(([name, stage]): [string, Stage] => {
    const hard = stage.kind === 'agent' ? timeout : stage.kind === 'commands' ? gate : undefined
    const quiet = stage.kind === 'agent' ? idle : undefined
    const limits = withoutGaps({ hard, idle: quiet })
    const legacy =
      stage.kind === 'agent' && stage.signal.from === 'tags' && config.legacySignals !== undefined
        ? { signal: { ...stage.signal, legacy: config.legacySignals } }
        : {}
    return [name, { ...stage, ...legacy, time: { ...stage.time, ...limits } }]
  })
  const taskLimit = typeof taskTime === 'number' ? { hard: taskTime } : taskTime
  // C-01: what `-n` sets is the preset's own choice.
  const perTask = preset.cap === 'attempts'
  const limits: Limits = {
    ...preset.limits,
    ...withoutGaps({
      ...counts,
      iterations: (perTask ? undefined : given.iterations) ?? counts.iterations,
      attempts: given.attempts ?? (perTask ? given.iterations : undefined) ?? counts.attempts,
      cost: given.cost ?? counts.cost,
    }),
    ...(time ? { run: { hard: time } } : {}),
    ...(taskLimit ? { task: withoutGaps(taskLimit) } : {}),
  }
  return { ...preset, stages: Object.fromEntries(stages), limits }
}

function withoutGaps<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
