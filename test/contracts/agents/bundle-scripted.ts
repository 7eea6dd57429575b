import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { usePrograms } from './use-programs.ts'

/** Builds the scripted agent. */
export function useScriptedProgram(): () => string {
  const program = usePrograms({ 'scripted-agent': 'src/agents/scripted/program.ts' })
  return () => program('scripted-agent')
}

/** Writes a program into a folder and returns its path; `more` are lines of shell that come before the script. */
export type Shim = (folder: string, script?: string, more?: string[]) => string

/** Programs named like the real one that print what the real one would: the scripted agent in its clothes. */
export function useShim(name: string, version: string): Shim {
  const program = useScriptedProgram()
  return (folder, script = 'unused', more = []) => {
    const file = path.join(folder, name)
    const lines = [
      '#!/bin/sh',
      `[ "$1" = --version ] && exec echo '${version}'`,
      ...more,
      `exec '${process.execPath}' '${program()}' '${script}' "$@"`,
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    chmodSync(file, 0o755)
    return file
  }
}
