import { foldRun, newRunState, presets, runStream, transition } from '../dist/index.js'

/** Fills a journal with tasks that have a history: most are done, the last ones are open. */
export async function fillJournal(log, { tasks, events }) {
  const rules = { workflow: presets.stories, verify: ['true'] }
  const perTask = Math.max(1, Math.floor(events / tasks))
  let run = newRunState('bench')
  const at = Date.now()
  const envelope = { v: 1, at, run: 'bench' }
  const started = { ...envelope, type: 'run.started', ...rules, host: 'bench', pid: 1, options: {} }
  run = foldRun(run, started)
  await log.append([{ stream: runStream('bench'), seq: 1, event: started, run }])
  let batch = []
  for (let n = 0; n < tasks; n++) {
    const id = `${Math.ceil((n + 1) / 100)}.${(n % 100) + 1}`
    const task = {
      id,
      title: `Story ${id}`,
      spec: `specs/story-${id}.md`,
      needs: [],
      order: n,
      verify: [],
      allows: [],
    }
    let state = null
    let seq = 0
    const add = body => {
      const event = { ...envelope, ...body }
      state = transition(rules, state, event).state
      run = foldRun(run, event)
      seq += 1
      batch.push({ stream: id, seq, event, state, rank: n, run })
    }
    add({ type: 'task.added', task })
    // The last hundred stay open and untouched.
    for (let k = 1; k < perTask - 1 && n < tasks - 100; k++)
      add({ type: 'task.steered', text: `remark ${k} of ${id}` })
    if (n < tasks - 100 && perTask > 1) add({ type: 'task.recorded', source: 'bench' })
    if (batch.length >= 1000) {
      await log.append(batch)
      batch = []
    }
  }
  if (batch.length > 0) await log.append(batch)
}
