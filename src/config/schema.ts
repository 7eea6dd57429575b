import { z } from 'zod'
import { parseDuration } from './duration.ts'

/** `ralph.config.yaml`. One schema is the validation, the documentation (`docs/config.md`) and the JSON schema. */

const duration = z
  .union([z.number(), z.string()])
  .transform((value, context) => {
    const ms = parseDuration(value)
    if (ms !== null) return ms
    context.addIssue({
      code: 'custom',
      message: `expected a duration like 30m, 90s or 1h30m, got ${JSON.stringify(value)}`,
    })
    return z.NEVER
  })
  .describe('A duration: 90 (seconds), 500ms, 30s, 10m, 1h30m; 0 or off = no limit')

const oneAgent = z.union([
  z.string().min(1),
  z.strictObject({
    name: z
      .string()
      .min(1)
      .optional()
      .describe('Adapter: claude, codex, copilot, gemini, opencode, acp, command or scripted'),
    program: z.string().min(1).optional().describe("Another place of the agent's own program"),
    command: z
      .union([z.string().min(1), z.array(z.string()).min(1)])
      .optional()
      .describe('The program and its arguments'),
    script: z.string().min(1).optional().describe('Script of the scripted agent'),
    model: z.string().min(1).optional(),
    args: z.array(z.string()).optional().describe('Arguments added at the end'),
    env: z.array(z.string()).optional().describe('Names of further environment variables it may see'),
    patterns: z
      .array(
        z.strictObject({
          kind: z.enum(['infrastructure', 'limit', 'auth', 'permission', 'crash', 'timeout', 'empty']),
          pattern: z.string().min(1),
        }),
      )
      .optional()
      .describe('Phrases of its error messages and what they mean; tried before the built-in ones'),
  }),
])

const time = z.strictObject({
  soft: duration.optional().describe('A warning is given'),
  hard: duration.optional().describe('It is stopped'),
  idle: duration.optional().describe('It is stopped when it prints nothing for so long'),
})

const limits = z.strictObject({
  iterations: z.int().positive().optional().describe('Iterations per run'),
  attempts: z.int().positive().optional().describe('Tries per task, in total'),
  timeout: duration.optional().describe('Wall time of one agent call'),
  idle: duration.optional().describe('An agent that prints nothing for so long is stopped'),
  gate: duration.optional().describe('Wall time of one verify command'),
  time: duration.optional().describe('Wall time of the whole run'),
  cost: z.number().positive().optional().describe('US dollars per run'),
  tokens: z.int().positive().optional().describe('Tokens per run'),
  faults: z.int().positive().optional().describe('Outages in a row that are waited out'),
  requeues: z.int().nonnegative().optional().describe('How often an exhausted task goes back to the queue'),
  taskCost: z.number().positive().optional().describe('US dollars per task'),
  taskTokens: z.int().positive().optional().describe('Tokens per task'),
  adaptive: z
    .boolean()
    .optional()
    .describe('Fewer tries for a simple task, more for a hard one, by its complexity from 1 to 10'),
  taskTime: z.union([duration, time]).optional().describe('Wall time of one task over all its attempts'),
})

const agents = z.union([oneAgent, z.array(oneAgent).min(1)])

/** One agent per role; `implementer` and `reviewer` stand in for the other roles that may write or only read. */
const agentsByRole = z
  .looseObject({ implementer: agents, reviewer: agents.optional() })
  .catchall(agents)
  .refine(value => !('command' in value) && !('name' in value) && !('script' in value), {
    message: 'expected either one agent or one agent per role, not both',
  })

const target = z.string().min(1)
const bounded = { to: target, max: z.int().nonnegative(), ['then' as const]: target }
const edge = z.union([target, z.strictObject(bounded).describe('Taken at most max times, after that `then`')])

const signal = z.union([
  z.enum(['exit', 'verdict', 'tags', 'report', 'backlog']),
  z.strictObject({
    promise: z.string().min(1),
    contradictions: z.boolean().optional(),
    words: z.array(z.string().min(1)).optional(),
    commit: z.boolean().optional(),
  }),
])

/** One stage of a workflow. What is not said is taken from the stage of the same name in the preset that is extended. */
export const stageSchema = z.strictObject({
  kind: z.enum(['agent', 'commands', 'engine']).optional(),
  role: z.string().min(1).optional(),
  may: z.enum(['write', 'read']).optional(),
  prompt: z.string().min(1).optional().describe('Name of the prompt template, prompts/<name>.md'),
  signal: signal.optional(),
  gate: z.enum(['hard', 'soft']).optional(),
  review: z.boolean().optional(),
  action: z.enum(['choose', 'record']).optional(),
  limit: z.int().positive().optional(),
  time: time.optional(),
  on: z.strictObject({ pass: edge.optional(), fail: edge.optional(), unclear: edge.optional() }).optional(),
})

const host = z
  .string()
  .regex(
    /^(?:\*|(?:\*\.)?[^\s:/[\]*]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/iu,
    'expected example.com, *.example.com, example.com:8443 or localhost:5432',
  )
const outsidePath = z
  .string()
  .regex(/^(?:\/|~\/)[^/]/u, 'expected a path that begins with / or ~/ and names more')

const sandbox = z.strictObject({
  use: z.string().min(1).optional().describe('auto, required, none or the name of a provider'),
  hosts: z.array(host).optional().describe('Hosts that may be reached besides those of the agent'),
  reads: z.array(outsidePath).optional().describe('Paths outside the project that may be read as well'),
  writes: z.array(outsidePath).optional().describe('Paths outside the project that may be written as well'),
  gates: z
    .enum(['inside', 'outside'])
    .optional()
    .describe('Where the verify commands run; outside, what agents wrote runs with your rights'),
})

export const configSchema = z.strictObject({
  preset: z.string().min(1).optional().describe('stepwise, reviewed, pipeline, gated or stories'),
  extends: z.string().min(1).optional().describe('The preset that the keys below change'),
  start: z.string().min(1).optional().describe('The stage that every attempt begins with'),
  stages: z
    .record(z.string(), z.union([stageSchema, z.null()]))
    .optional()
    .describe('Stages by name, laid over those of the preset; null takes one away'),
  onExhausted: z.enum(['halt', 'approve-with-note', 'requeue', 'branch-and-skip']).optional(),
  onFail: z.enum(['restore', 'branch', 'keep']).optional().describe('What becomes of failed work'),
  onRetry: z.enum(['restore', 'keep']).optional().describe('Whether the next try builds on the failed one'),
  push: z
    .string()
    .min(1)
    .optional()
    .describe('Remote that branches of failed work are pushed to; nothing is pushed without it'),
  select: z.enum(['order', 'complexity', 'priority']).optional(),
  iteration: z.enum(['call', 'attempt', 'task']).optional(),
  stuck: z.strictObject({ same: z.int().positive(), shifts: z.int().nonnegative() }).optional(),
  consensus: z
    .strictObject({ reviewers: z.int().positive(), quorum: z.int().positive() })
    .optional()
    .describe('Once all tasks are done, so many reviewers look at the whole and so many must approve'),
  prompts: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of prompt templates that stand for the built-in ones'),
  layout: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('What the file format of the preset wants to know; see its page'),
  agent: z
    .union([agents, agentsByRole])
    .optional()
    .describe('An agent, a list in order of fallback, or one per role'),
  model: z.string().min(1).optional(),
  verify: z
    .union([z.literal('none'), z.string().min(1), z.array(z.string().min(1))])
    .optional()
    .describe("Commands the engine runs itself; 'none' accepts the agents' word"),
  protect: z.array(z.string().min(1)).optional().describe('Globs of files an agent may not change'),
  // The short form is turned into the long one, so that a mistake is told with the field it is in.
  sandbox: z
    .preprocess(value => (typeof value === 'string' ? { use: value } : value), sandbox)
    .optional()
    .describe('Where agents and gates run; a word alone is its `use`'),
  limits: limits.optional(),
  rules: z.array(z.string().min(1)).optional().describe('Critical rules added to every prompt'),
  context: z
    .union([z.string().min(1), z.literal(false)])
    .optional()
    .describe('The file that must hold the project context'),
  legacySignals: z.boolean().optional().describe('Accept [DONE] and [FAIL] lines'),
  strictDependencies: z
    .boolean()
    .optional()
    .describe('A task whose needs are not done blocks; otherwise it is a warning'),
  cleanGates: z
    .boolean()
    .optional()
    .describe('Run the gates in a checkout that holds only what would be committed'),
  branch: z
    .string()
    .min(1)
    .optional()
    .describe('Work on this branch, made from HEAD when missing; {run}, {epic} and {story} are filled in'),
  log: z.string().min(1).optional().describe('Log file'),
  env: z.array(z.string().min(1)).optional().describe('Further environment variables for agents and gates'),
  secrets: z
    .array(z.string().min(1))
    .optional()
    .describe('Names of variables whose values are redacted everywhere'),
  lease: duration.optional().describe('An engine that shows no sign of life for so long may be replaced'),
  leash: duration
    .optional()
    .describe('An agent whose engine shows no sign of life for so long is ended; must be shorter than lease'),
})

export type Config = z.infer<typeof configSchema>
