import { readFileSync, writeSync } from 'node:fs'
import { type Category, categories } from '../guard/categories.ts'
import { contextHere, realPath } from '../guard/here.ts'
import { judgeCommand } from '../guard/judge.ts'
import { broken, judgeToolCall, type ToolAnswer } from './pretool.ts'

/**
 * The command guard as a program of its own, one file without dependencies: an agent's CLI starts it before every tool
 * call, the call as JSON on stdin. `--check <command>` and `--list` (`--json`) are for people: `ralph guard`.
 */
main(process.argv.slice(2))

function main([first, ...others]: string[]): void {
  const isJson = others.includes('--json')
  if (first === '--check') check(others[0] ?? '', isJson)
  else if (first === '--list') print(isJson ? json(categories) : categories.map(described).join('\n'))
  else {
    const { exitCode, stdout, stderr } = hook()
    if (stderr) writeSync(2, stderr)
    if (stdout) print(stdout)
    process.exitCode = exitCode
  }
}

/** Whatever goes wrong is a refusal: a hook that breaks must let nothing through. */
function hook(): ToolAnswer {
  try {
    const call: unknown = JSON.parse(readFileSync(0, 'utf8'))
    return judgeToolCall(call, contextHere(process.env, process.cwd()), { realPath })
  } catch (error) {
    return broken(`the tool call cannot be judged (${error instanceof Error ? error.message : error})`)
  }
}

function check(command: string, isJson: boolean): void {
  const verdict = judgeCommand(command, contextHere(process.env, process.cwd()))
  if (isJson) print(json(verdict))
  else if (verdict.verdict === 'allow') print('allowed\n')
  else print(`denied (${verdict.category}): ${verdict.reason}\n  in: ${verdict.part}\n`)
  process.exitCode = verdict.verdict === 'allow' ? 0 : 1
}

function described({ name, about, examples, allowed }: Category): string {
  const lines = [...examples.map(one => `  denied   ${one}`), ...allowed.map(one => `  allowed  ${one}`)]
  return `${name}: ${about}\n${lines.join('\n')}\n`
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** At once and whole, also into a pipe: the process may end right after. */
function print(text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
}
