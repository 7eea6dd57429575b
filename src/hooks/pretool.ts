import { judgeCommand } from '../guard/judge.ts'
import { type FileTool, judgeFile } from '../guard/judge-file.ts'
import type { GuardContext, GuardVerdict } from '../guard/verdict.ts'

/** What the hook prints and how it ends. Nothing and 0 means: as if there were no hook. */
export type ToolAnswer = {
  exitCode: 0 | 2
  stdout: string
  stderr: string
  /** What the tool was taken for. Of an unknown one nothing is judged. */
  kind: 'shell' | 'file' | 'unknown' | 'unreadable'
}

/** `realPath` follows links; the path as it is given is judged as well. */
export type ToolCallOptions = { realPath?: (path: string) => string }

/**
 * A tool call as the hook of an agent's CLI tells it on stdin (Claude Code, Codex, Copilot, Qwen, opencode: PreToolUse;
 * Gemini: BeforeTool; Copilot's own form: toolName), judged. What cannot be read is refused.
 */
export function judgeToolCall(
  input: unknown,
  context: GuardContext,
  options: ToolCallOptions = {},
): ToolAnswer {
  const call = readCall(input)
  if (!call) return broken('the tool call cannot be read')
  const { tool, args } = call
  const cwd = folderOf(call, context)
  if (shellTools.has(tool)) {
    const command = commandOf(args)
    if (command === null) return broken(`the command of ${call.name} cannot be read`)
    return answer(judgeCommand(command, { ...context, cwd }), call.dialect, 'shell')
  }
  const uses = fileUses(tool, args)
  if (uses === null) return broken(`the file of ${call.name} cannot be read`)
  if (uses.length === 0) return { exitCode: 0, stdout: '', stderr: '', kind: 'unknown' }
  for (const { use, path } of uses) {
    const whole = path.startsWith('/') || path.startsWith('~') ? path : `${cwd}/${path}`
    for (const one of new Set([whole, options.realPath?.(whole.replace(/^~/u, context.home)) ?? whole])) {
      const verdict = judgeFile(use, one, { ...context, cwd })
      if (verdict.verdict === 'deny') return answer(verdict, call.dialect, 'file')
    }
  }
  return { exitCode: 0, stdout: '', stderr: '', kind: 'file' }
}

type Dialect = 'claude' | 'gemini' | 'copilot'
type ToolCall = { name: string; tool: string; args: unknown; cwd: string | null; dialect: Dialect }

function readCall(input: unknown): ToolCall | null {
  if (!isRecord(input)) return null
  const flat = typeof input.toolName === 'string'
  const name = flat ? input.toolName : (input.tool_name ?? input.tool)
  if (typeof name !== 'string' || name === '') return null
  const args = flat ? input.toolArgs : (input.tool_input ?? input.args)
  const dialect = input.hook_event_name === 'BeforeTool' ? 'gemini' : flat ? 'copilot' : 'claude'
  const cwd = typeof input.cwd === 'string' && input.cwd.startsWith('/') ? input.cwd : null
  return { name, tool: name.toLowerCase(), args: parsed(args), cwd, dialect }
}

/** Copilot sends the arguments as text. */
function parsed(args: unknown): unknown {
  if (typeof args !== 'string' || !/^\s*\{/u.test(args)) return args
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}

const shellTools = new Set(
  'bash shell local_shell run_shell_command exec_command execute_command run_command run_terminal_cmd run_in_terminal terminal powershell write_bash write_stdin monitor'.split(
    ' ',
  ),
)

/** A text, or a list of words as Codex gives it. */
function commandOf(args: unknown): string | null {
  const given = isRecord(args) ? (args.command ?? args.cmd ?? args.script ?? args.input ?? args.chars) : args
  if (typeof given === 'string') return given
  if (!Array.isArray(given) || !given.every(word => typeof word === 'string')) return null
  return given.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
}

/** Some shell tools name the folder they run in. */
function folderOf({ args, cwd }: ToolCall, context: GuardContext): string {
  const base = cwd ?? context.cwd
  const named = isRecord(args) ? (args.workdir ?? args.directory ?? args.dir_path ?? args.cwd) : undefined
  if (typeof named !== 'string' || named === '') return base
  return named.startsWith('/') ? named : `${base}/${named}`
}

type FileUse = { use: FileTool; path: string }

const writers = new Set(
  'write edit multiedit notebookedit write_file replace create create_file str_replace str_replace_editor str_replace_based_edit_tool insert edit_file search_replace'.split(
    ' ',
  ),
)
const readers = new Set(
  'read read_file view notebookread read_many_files grep search_file_content grep_search'.split(' '),
)
const removers = new Set(['delete', 'delete_file', 'remove_file'])
const patchers = new Set(['apply_patch', 'patch'])

/** The files a tool call would touch: none for tools that are not known, null when they cannot be read. */
function fileUses(tool: string, args: unknown): FileUse[] | null {
  // Copilot sends a patch as an `Edit` whose whole input is the patch.
  if (patchers.has(tool) || (writers.has(tool) && typeof args === 'string')) return patchUses(args)
  const isLook = isRecord(args) && args.command === 'view'
  const use = writers.has(tool) && !isLook ? 'write' : removers.has(tool) ? 'delete' : 'read'
  if (!writers.has(tool) && !readers.has(tool) && !removers.has(tool)) return []
  const paths = pathsOf(args)
  if (paths.length === 0) return use === 'read' ? [] : null
  return paths.map(path => ({ use, path }))
}

const pathNames = [
  'file_path',
  'filePath',
  'path',
  'notebook_path',
  'absolute_path',
  'filename',
  'file',
  'target_file',
]

function pathsOf(args: unknown): string[] {
  if (!isRecord(args)) return []
  const many = [args.paths, args.include].flatMap(value => (Array.isArray(value) ? value : []))
  return [...pathNames.map(key => args[key]), ...many].filter(
    value => typeof value === 'string' && value !== '',
  ) as string[]
}

/** `*** Update File: src/a.ts` */
function patchUses(args: unknown): FileUse[] | null {
  const given = isRecord(args)
    ? (args.command ?? args.patch ?? args.input ?? args.patchText ?? args.patch_text)
    : args
  const text = Array.isArray(given) ? given.join('\n') : given
  if (typeof text !== 'string') return null
  const found = [...text.matchAll(/^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$/gmu)]
  if (found.length === 0) return null
  return found.map(([, kind = '', path = '']) => ({
    use: kind.startsWith('Delete') ? 'delete' : 'write',
    path: path.trim(),
  }))
}

function answer(verdict: GuardVerdict, dialect: Dialect, kind: 'shell' | 'file'): ToolAnswer {
  if (verdict.verdict === 'allow') return { exitCode: 0, stdout: '', stderr: '', kind }
  const reason = `Ralph’s command guard (${verdict.category}): ${verdict.reason} Judged: ${verdict.part}`
  return { exitCode: 0, stdout: `${JSON.stringify(denied(dialect, reason))}\n`, stderr: '', kind }
}

function denied(dialect: Dialect, reason: string): Record<string, unknown> {
  if (dialect === 'gemini') return { decision: 'deny', reason }
  const decision = { permissionDecision: 'deny', permissionDecisionReason: reason }
  if (dialect === 'copilot') return decision
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
}

/** Every CLI takes 2 for a refusal and shows the model what stands on stderr. */
export function broken(what: string): ToolAnswer {
  return {
    exitCode: 2,
    stdout: '',
    stderr: `Ralph’s command guard: ${what}, so it is refused.\n`,
    kind: 'unreadable',
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
