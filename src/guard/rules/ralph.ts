import type { Rule } from '../call.ts'
import { refuse } from '../verdict.ts'
import { subcommandRules } from './words.ts'

const free =
  /^--(?:dangerously-[\w-]+|yolo|allow-all(?:-tools|-paths|-urls)?|full-auto|no-sandbox|approval-mode[= ]?yolo|permission-mode|settings|plugin-dir|mcp-config|bare)(?:=|$)/u

/** What would free an agent of its bounds, or steer the loop from inside. */
export const ralphRules: readonly Rule[] = [
  {
    programs: [
      'claude',
      'codex',
      'gemini',
      'copilot',
      'opencode',
      'qwen',
      'cursor-agent',
      'aider',
      'goose',
      'amp',
    ],
    judge: ({ program, args }) =>
      args.some(
        arg =>
          free.test(arg) ||
          arg === '-y' ||
          arg === 'bypassPermissions' ||
          arg === 'danger-full-access' ||
          arg === 'yolo',
      )
        ? refuse('guard-tamper', `${program} would start an agent without bounds`)
        : /^(?:config|mcp|plugin|hooks|update|install|login|logout|setup-token)$/u.test(args[0] ?? '') &&
            !/^(?:list|get|ls)$/u.test(args[1] ?? '')
          ? refuse('guard-tamper', `${program} ${args[0]} would change the settings of the agent`)
          : null,
  },
  {
    programs: ['history'],
    judge: ({ args }) =>
      args.some(arg => /^-[a-z]*[cdw]/u.test(arg))
        ? refuse('guard-tamper', 'history would hide what is done here')
        : null,
  },
  ...subcommandRules([
    {
      category: 'guard-tamper',
      what: 'would steer the loop from inside',
      lines: ['ralph cancel|pause|resume|steer|retry', 'ralph journal import'],
    },
    {
      category: 'guard-tamper',
      what: 'would change where packages and programs come from',
      lines: [
        ...[
          'npm config|c set|delete|edit',
          'npm set *',
          'pnpm config set|delete',
          'yarn config set|unset',
          'pip config set|unset|edit',
        ],
        ...['bundle config *', 'gem sources *', 'poetry config *', 'go env -w'],
      ],
    },
    {
      category: 'persistence',
      what: 'would leave something behind that runs later',
      lines: ['pm2 startup|save', 'brew services start|restart'],
    },
  ]),
  {
    programs: ['enable', 'shopt', 'hash', 'unalias', 'bind', 'complete'],
    judge: ({ program, args }) =>
      (program === 'hash' && args.includes('-p')) ||
      (program === 'enable' && args.some(arg => /^-[a-z]*[nf]/u.test(arg))) ||
      program === 'bind'
        ? refuse('guard-tamper', `${program} would change which program a name stands for`)
        : null,
  },
]
