import type { Workflow } from '../core/workflow.ts'
import { gated } from './gated.ts'
import { pipeline } from './pipeline.ts'
import { reviewed } from './reviewed.ts'
import { stepwise } from './stepwise.ts'
import { stories } from './stories.ts'

export const presets: Record<string, Workflow> = { stepwise, reviewed, pipeline, gated, stories }
