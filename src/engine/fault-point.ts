/**
 * Places where the crash tests end the engine with kill -9: `RALPH_CRASH=event:7` dies right after the seventh event is
 * durable. Without the variable this is a single comparison.
 */
const [wanted, count] = (process.env.RALPH_CRASH ?? '').split(':')
let seen = 0

export function faultPoint(name: string): void {
  if (!wanted || wanted !== name) return
  seen += 1
  if (seen === Number(count)) process.kill(process.pid, 'SIGKILL')
}
