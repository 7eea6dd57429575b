import { type ProcessOptions, runProcess } from '../../src/process/run-process.ts'

// The smallest engine there is: runs one program and says how it went and how much memory that took.
const options = JSON.parse(process.argv[2] ?? '') as Omit<ProcessOptions, 'signal'>
const before = process.resourceUsage().maxRSS
let lines = 0
let longest = 0
const result = await runProcess({
  ...options,
  signal: new AbortController().signal,
  onLine: line => {
    lines++
    longest = Math.max(longest, line.length)
  },
})
const { maxRSS } = process.resourceUsage()
const cpu = process.cpuUsage()
console.log(
  JSON.stringify({ ...result, lines, longest, before, maxRSS, cpu: (cpu.user + cpu.system) / 1000 }),
)
