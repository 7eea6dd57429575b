import type { Command } from 'commander'
import { UserError } from '../core/errors.ts'
import { bashScript, fishScript, type Grammar, zshScript } from './completion-scripts.ts'
import { terminal } from './terminal.ts'

/** `ralph completion`: a script for the shell, made from the very commands and options there are. */
export async function completion({ shell, program }: { shell: string; program: Command }): Promise<void> {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (!script)
    throw new UserError(
      `no completion for '${shell}'`,
      `Choose one of: ${Object.keys(scripts).join(', ')}.`,
      2,
    )
  terminal().out(script(grammarOf(program)))
}

const scripts: Record<string, (grammar: Grammar) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

export function grammarOf(program: Command): Grammar {
  return {
    name: program.name(),
    options: optionsOf(program),
    commands: program
      .createHelp()
      .visibleCommands(program)
      .map(command => ({
        name: command.name(),
        description: command.description(),
        options: optionsOf(command),
        words: choicesOf(command.name()),
      })),
  }
}

function optionsOf(command: Command): Grammar['options'] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description, required, optional }) => ({
      long: long ?? '',
      short: short ?? '',
      description,
      takes: required || optional,
    }))
}

/** First arguments that are one of a few words. */
function choicesOf(command: string): string[] {
  const choices: Record<string, string[]> = {
    completion: ['bash', 'zsh', 'fish'],
    journal: ['export', 'import'],
    new: ['story'],
  }
  return choices[command] ?? []
}
