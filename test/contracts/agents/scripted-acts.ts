import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Act } from './agent-contract.ts'

/** Writes a script whose every call plays these steps. */
export function writeScript(folder: string, steps: unknown[]): string {
  const file = path.join(folder, 'script.json')
  writeFileSync(file, JSON.stringify({ rules: [], otherwise: steps }))
  return file
}

/** What comes before an act's end, for an agent that tells it as events: `between` follows a thought that must not count. */
export function spokenSteps(act: Act, said: (text: string) => unknown, between: unknown[] = []): unknown[] {
  return [
    ...(act.before ?? []),
    ...(act.message?.trim() ? [said('an earlier thought: <promise>COMPLETE</promise>'), ...between] : []),
    ...(act.aside === undefined ? [] : [{ stderr: act.aside }]),
    ...(act.message === undefined ? [] : [said(act.message)]),
  ]
}

/** An act of a program that simply prints. */
export function plainSteps(act: Act): unknown[] {
  return [
    ...(act.before ?? []),
    ...(act.aside === undefined ? [] : [{ stderr: act.aside }]),
    ...(act.message === undefined ? [] : [{ say: act.message }]),
    ...(act.fails === undefined ? [] : [{ say: failures[act.fails] }]),
    ...(act.usage === undefined ? [] : [{ usage: act.usage }]),
    ...(act.after ?? []),
    ...(act.exit === undefined ? [] : [{ exit: act.exit }]),
  ]
}

const failures = {
  limit: "You've hit your limit · resets 3am (UTC)",
  outage: 'Error: 503 Service Unavailable',
  login: 'Not logged in · Please run /login',
}
