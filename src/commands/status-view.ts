import { ago, duration, oneLine, plural } from '../core/text.ts'
import { timestamp } from '../reporters/log-file.ts'
import type { Style } from '../reporters/style.ts'
import { stageWords } from './stage-words.ts'
import type { StatusData, TaskView } from './status-data.ts'

export type StatusLook = { now: number; style: Style; width: number }

/** `ralph status` as text. */
export function statusText(status: StatusData, look: StatusLook): string {
  const parts = [
    countsPart(status, look),
    enginePart(status, look),
    loopsPart(status, look),
    workingPart(status, look),
    unmergedPart(status, look),
    runPart(status, look),
    requestsPart(status, look),
    stoppedPart(status, look),
    openPart(status, look),
    nextPart(status),
  ]
  return `${parts
    .filter(part => part.length > 0)
    .map(part => part.join('\n'))
    .join('\n\n')}\n`
}

const barWidth = 24

function countsPart({ counts, proofs, run }: StatusData, { style }: StatusLook): string[] {
  const { removed, ...present } = counts
  const total = Object.values(present).reduce((sum, count) => sum + count, 0)
  const filled = total === 0 ? 0 : Math.floor((counts.done / total) * barWidth)
  const stopped = counts.halted + counts.failed + counts.held + counts.cancelled
  const bad = stopped === 0 ? 0 : Math.max(1, Math.floor((stopped / total) * barWidth))
  const left = Math.max(0, barWidth - filled - bad)
  const bar = style.green('█'.repeat(filled)) + style.red('▒'.repeat(bad)) + style.dim('░'.repeat(left))
  const preset = run?.preset ? style.dim(`  ${run.preset}`) : ''
  const others = (['open', 'halted', 'failed', 'held', 'cancelled'] as const)
    .filter(status => counts[status] > 0)
    .map(status => `${counts[status]} ${status}`)
  const proven = [
    proofs.verified > 0 ? style.green(`${proofs.verified} verified`) : '',
    proofs.unverified > 0 ? style.yellow(`${proofs.unverified} unverified (the agents’ word)`) : '',
    proofs.recorded > 0 ? `${proofs.recorded} recorded (done before this journal)` : '',
  ].filter(Boolean)
  return [
    `${bar}  ${style.bold(`${counts.done} of ${plural(total, 'task')} done`)}${preset}`,
    ...(proven.length > 0 ? [`  done:  ${proven.join(' · ')}`] : []),
    ...(others.length > 0 ? [`  left:  ${others.join(' · ')}`] : []),
  ]
}

function enginePart({ engine, run, working }: StatusData, { now, style }: StatusLook): string[] {
  if (engine?.alive) {
    const paused = run?.paused ? style.yellow(' · paused; `ralph resume` goes on') : ''
    return [
      `${style.cyan('▶')} ${engine.what} is working (pid ${engine.pid}, for ${ago(now - engine.since)})${paused}`,
    ]
  }
  const lines = ['No engine is running.']
  if (engine)
    lines.push(`The last one (pid ${engine.pid}) is gone; nothing is lost, \`ralph run\` goes on from here.`)
  else if (working?.step) lines.push('A step was cut off; it does not count, `ralph run` takes it again.')
  if (run?.paused && run.status === 'open') lines.push('It was paused; `ralph resume` lets it go on.')
  return lines
}

function workingPart({ working, engine }: StatusData, { now, style, width }: StatusLook): string[] {
  if (!working) return []
  const { id, title, stage, attempt, attempts, since, waitUntil, lastFailure } = working
  const alive = engine?.alive === true
  const time = since === null ? '' : alive ? ` · for ${duration(now - since)}` : ' · cut off'
  const lines = [
    `${style.bold(`${id} ${title}`)}`,
    `    ${stageWords(stage ?? '@settle')} · attempt ${attempt}/${attempts}${time}`,
  ]
  if (working.changedFiles > 0)
    lines.push(
      `    ${plural(working.changedFiles, 'file')} changed${working.gates > 0 ? `, ${plural(working.gates, 'gate')} green` : ''}`,
    )
  if (waitUntil !== null && waitUntil > now) {
    lines.push(
      style.yellow(
        `    waiting until ${timestamp(waitUntil)} (${ago(waitUntil - now)}): ${oneLine(working.note, width)}`,
      ),
    )
  }
  if (lastFailure)
    lines.push(
      `    last failure (attempt ${lastFailure.attempt}, ${stageWords(lastFailure.stage)}): ${oneLine(lastFailure.reason, width)}`,
    )
  return lines
}

/** In the seed's words (S2-39, S2-40). */
function loopsPart({ loops }: StatusData, { now }: StatusLook): string[] {
  if (!loops) return []
  if (loops.length === 0) return ['No active Ralph loops.']
  const lines = loops.map(
    ({ task, stage, iteration, max, startedAt }) =>
      `  ${task} (${stage}): iteration ${iteration}/${max}, started ${ago(now - startedAt)} ago`,
  )
  return ['Active Ralph Loops:', ...lines]
}

function unmergedPart({ unmerged }: StatusData, { style }: StatusLook): string[] {
  if (unmerged.length === 0) return []
  const lines = unmerged.map(({ task, branch, why }) => `  ${task}: ${why}\n      → git merge ${branch}`)
  return [style.bold('Done, and waiting to be merged:'), ...lines]
}

function isWaiting({ waitUntil }: TaskView, now: number): boolean {
  return waitUntil !== null && waitUntil > now
}

function runPart({ run, engine }: StatusData, { now }: StatusLook): string[] {
  if (!run) return []
  const used = run.budgets.map(line => line.text)
  if (!run.budgets.some(line => line.name === 'iterations')) used.unshift(plural(run.iterations, 'iteration'))
  if (!run.budgets.some(line => line.name === 'cost') && run.costUsd > 0)
    used.push(`$${run.costUsd.toFixed(2)} spent`)
  if (run.unknownCosts > 0) used.push(`cost of ${plural(run.unknownCosts, 'call')} unknown`)
  const lines = [`Budget:    ${used.join(' · ')}`]
  if (run.status === 'finished')
    lines.push(`Last run:  ${run.end}, ${ago(now - run.endedAt)} ago: ${run.message}`)
  else if (!engine?.alive)
    lines.push(
      `Last run:  began ${ago(now - run.startedAt)} ago and has not ended: it was cut off, or made of single steps`,
    )
  return lines
}

function requestsPart({ requests, engine }: StatusData, { style }: StatusLook): string[] {
  if (requests.length === 0) return []
  const when = engine?.alive ? 'at the next step' : 'by the next `ralph run`'
  return requests.map(({ kind, task, text, by }) =>
    style.yellow(
      `Asked by ${by}: ${[kind, task, oneLine(text, 60)].filter(Boolean).join(' ')} (taken up ${when})`,
    ),
  )
}

function stoppedPart({ stopped, stoppedMore }: StatusData, { style, width }: StatusLook): string[] {
  if (stopped.length === 0) return []
  const lines = [style.bold('Needs a person:')]
  for (const { id, title, status, note } of stopped) {
    lines.push(`  ${style.red('✗')} ${id} ${title} · ${status}${note ? `: ${oneLine(note, width)}` : ''}`)
    lines.push(`      → ralph explain ${id}    ralph retry ${id}`)
  }
  if (stoppedMore > 0) lines.push(`  … and ${stoppedMore} more (--all)`)
  return lines
}

function openPart({ open, openMore, counts }: StatusData, { now, style }: StatusLook): string[] {
  if (open.length === 0) return []
  const lines = [style.bold(`Open (${counts.open}):`)]
  for (const task of open) {
    const failed = task.lastFailure ? ` · attempt ${task.attempt}/${task.attempts}` : ''
    const waits = isWaiting(task, now)
      ? ` · waits ${ago((task.waitUntil ?? 0) - now)}: ${oneLine(task.note, 80)}`
      : ''
    const mark = task.step !== null ? style.cyan('▶') : style.dim('·')
    lines.push(`  ${mark} ${task.id} ${task.title}${style.dim(`${failed}${waits}`)}`)
  }
  if (open.some(task => isWaiting(task, now))) lines.push('  → ralph retry ends the wait now')
  if (openMore > 0) lines.push(style.dim(`  … and ${openMore} more (--all)`))
  return lines
}

function nextPart({ engine, counts, run, stopped }: StatusData): string[] {
  if (engine?.alive) return []
  const paused = run?.paused && run.status === 'open'
  if (counts.open > 0) return [paused ? '→ ralph resume, then ralph run' : '→ ralph run']
  if (stopped.length > 0) return ['→ ralph explain']
  return counts.done > 0 ? ['→ ralph evidence    ralph verify'] : []
}
