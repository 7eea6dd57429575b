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
    name: z.string().min(1).optional().describe('Adapter: claude, command or scripted'),
    command: z
      .union([z.string().min(1), z.array(z.string()).min(1)])
      .optional()
      .describe('The program and its arguments'),
    script: z.string().min(1).optional().describe('Script of the scripted agent'),
    model: z.string().min(1).optional(),
    args: z.array(z.string()).optional().describe('Arguments added at the end'),
    env: z.array(z.string()).optional().describe('Names of further environment variables it may see'),
  }),
])

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
})

export const configSchema = z.strictObject({
  preset: z.string().min(1).optional().describe('stepwise, reviewed, pipeline, gated or stories'),
  agent: z
    .union([
      oneAgent,
      z.array(oneAgent).min(1),
      z.strictObject({ implementer: oneAgent, reviewer: oneAgent }),
    ])
    .optional()
    .describe('An agent, a list in order of fallback, or one per role'),
  model: z.string().min(1).optional(),
  verify: z
    .union([z.literal('none'), z.string().min(1), z.array(z.string().min(1))])
    .optional()
    .describe("Commands the engine runs itself; 'none' accepts the agents' word"),
  protect: z.array(z.string().min(1)).optional().describe('Globs of files an agent may not change'),
  sandbox: z.string().min(1).optional().describe('auto, required, none or the name of a provider'),
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
