import { readFileSync } from 'node:fs'
import { judgeCommand } from '../../src/guard/judge.ts'
import type { GuardContext, GuardVerdict } from '../../src/guard/verdict.ts'

/** The place the corpus assumes. Nothing of it is there, and nothing is ever run. */
export const context: GuardContext = {
  workspace: '/home/agent/work/proj',
  cwd: '/home/agent/work/proj',
  home: '/home/agent',
  temp: ['/tmp'],
  user: 'agent',
}

export const judge = (command: string): GuardVerdict => judgeCommand(command, context)

export type Case = {
  id: string
  command: string
  verdict: 'allow' | 'deny'
  category: string
  technique: string
  policy?: boolean
}

export const corpus = JSON.parse(
  readFileSync(new URL('./corpus.json', import.meta.url), 'utf8'),
) as readonly Case[]

/** Ours, beside the corpus: what agents do all day, and what they should not. */
export const moreCases = JSON.parse(
  readFileSync(new URL('./more-cases.json', import.meta.url), 'utf8'),
) as Record<'allow' | 'deny', readonly string[]>
