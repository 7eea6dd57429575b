import { defaultAttempts } from '../../core/transition.ts'
import type { FailedWork, PromptAbout } from '../layout.ts'
import { gateName } from './gate-names.ts'
import { stateFile } from './state-file.ts'
import { stateText } from './state-text.ts'

/** The message of the failure branch, word for word, and the state file that it speaks of (S3-43, S3-44). */
export function failureFiles({ state, rules }: Omit<PromptAbout, 'stage'>): FailedWork {
  const most = rules.workflow.limits.attempts ?? defaultAttempts
  const last = state.history.at(-1)
  const message = [
    `Ralph Loop failed: ${state.task.id}`,
    '',
    `Iterations: ${state.failures}/${most}`,
    `Last gate: ${gateName(last?.stage ?? '', 'state')}`,
    `Error hash: ${last?.fingerprint ?? ''}`,
    '',
    `See ${stateFile} for full history`,
    '',
  ].join('\n')
  return { message, files: { [stateFile]: stateText(state, most) } }
}
