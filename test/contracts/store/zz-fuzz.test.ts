import { it, expect } from 'vitest'
import { writeFileSync, readFileSync, rmSync, mkdtempSync } from 'node:fs'
import { open, driver } from './home.ts'
import { Journal } from './journal.ts'
import { inspectDatabase, salvage } from '../../../src/store/doctor.ts'
import { isSound } from '../../../src/store/check.ts'
it('fuzz', async () => {
  const dir = mkdtempSync('/dev/shm/fz-')
  const s = open(dir + '/a.db'); const j = new Journal(s.log); await j.atOnce(() => j.complete(...Array.from({ length: 40 }, (_, n) => `task-${n}`))); s.close()
  const w = readFileSync(dir + '/a.db')
  let r = 0, kept = 0, unre = new Map<string, number>()
  const t0 = Date.now(); let worst = 0
  for (let i = 0; i < 800; i++) {
    const d = Buffer.from(w)
    const mode = i % 4
    for (let n = 0; n < 1 + (i % 20) * 3; n++) {
      const at = Math.floor(Math.random() * (mode === 0 ? 4096 : mode === 1 ? 80000 : w.length))
      if (mode === 3) d[at] = d[at]! ^ (1 << Math.floor(Math.random() * 8)); else d.fill(Math.floor(Math.random() * 256), at, at + 1 + Math.floor(Math.random() * 60))
    }
    const p = `${dir}/${i}.db`; writeFileSync(p, i % 7 === 0 ? d.subarray(0, Math.floor(Math.random() * d.length)) : d)
    if (i % 5 === 0) writeFileSync(p + '-wal', d.subarray(0, 20000))
    const t = Date.now()
    const f = inspectDatabase(p, driver)
    worst = Math.max(worst, Date.now() - t)
    if (f.type === 'readable') { r++; const res = await salvage(p, p + '.to', driver); kept += res.events; const st = open(p + '.to'); expect(isSound(st.check())).toBe(true); st.close() }
    else if (f.type === 'unreadable') unre.set(f.problem, (unre.get(f.problem) ?? 0) + 1)
    for (const e of ['', '-wal', '-shm', '.to', '.to-wal', '.to-shm']) rmSync(p + e, { force: true })
  }
  console.log(driver, 'readable', r, 'mean kept', kept / r, 'unreadable', [...unre], 'ms', Date.now() - t0, 'worst', worst)
  rmSync(dir, { recursive: true })
}, 600000)
it('odd text', async () => {
  const dir = mkdtempSync('/tmp/fz-')
  const s = open(dir + '/a.db')
  for (const text of ['a\0b', '\ud800x', 'x\udfff', '\u{1F600}', '']) { 
    const id = await s.dispatch.file({ kind: 'steer', task: 'a', text, by: 'x', at: 1 })
    await s.log.setNote('k', text)
    console.log(JSON.stringify(text), JSON.stringify((await s.dispatch.pending()).at(-1)?.text), JSON.stringify(await s.log.getNote('k'))) }
  rmSync(dir, { recursive: true })
})
