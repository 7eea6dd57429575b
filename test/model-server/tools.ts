import { asRecord, asText, type JsonRecord } from '../../src/agents/json.ts'
import type { ToolCall } from './scenario.ts'

/** A tool that the program offers in its request. `parameters` is a JSON schema, null where it takes plain text. */
export type OfferedTool = { name: string; parameters: JsonRecord | null }

/** Says a tool call in the words of the program: its name for the tool, its names for the arguments. */
export function translate(call: ToolCall, offered: readonly OfferedTool[]): { name: string; input: unknown } {
  if ('raw' in call) return call.raw
  if ('shell' in call) return shell(call.shell, offered)
  if ('write' in call) {
    const tool = pick(offered, writeNames)
    if (!tool)
      return shell(`cat > ${quoted(call.write.path)} <<'__END'\n${call.write.content}\n__END`, offered)
    return filled(tool, [
      { names: pathNames, value: call.write.path },
      { names: contentNames, value: call.write.content },
    ])
  }
  const tool = pick(offered, readNames)
  if (!tool) return shell(`cat ${quoted(call.read)}`, offered)
  return filled(tool, [{ names: pathNames, value: call.read }])
}

const shellNames = [
  'Bash',
  'bash',
  'run_shell_command',
  'exec_command',
  'shell_command',
  'shell',
  'local_shell',
  'execute_command',
  'terminal',
]
const writeNames = ['Write', 'write_file', 'write', 'create', 'create_file']
const readNames = ['Read', 'read_file', 'read', 'view']
const pathNames = ['file_path', 'filePath', 'absolute_path', 'path']
const contentNames = ['content', 'file_text', 'contents', 'text']

function shell(command: string, offered: readonly OfferedTool[]): { name: string; input: unknown } {
  const tool = pick(offered, shellNames)
  // A call of a tool that was not offered is what a confused model does; the program says so itself.
  if (!tool) return { name: 'Bash', input: { command } }
  const isList = asRecord(properties(tool)?.command)?.type === 'array'
  return filled(tool, [{ names: ['command', 'cmd'], value: isList ? ['bash', '-lc', command] : command }])
}

function pick(offered: readonly OfferedTool[], names: readonly string[]): OfferedTool | undefined {
  return names.map(name => offered.find(tool => tool.name === name)).find(tool => tool !== undefined)
}

/** Gives each value under the name that the tool's schema has for it, and something for whatever else it requires. */
function filled(
  tool: OfferedTool,
  values: { names: readonly string[]; value: unknown }[],
): { name: string; input: unknown } {
  if (!tool.parameters) return { name: tool.name, input: values[0]?.value ?? '' }
  const known = properties(tool) ?? {}
  const input: Record<string, unknown> = {}
  for (const { names, value } of values) {
    const name = names.find(one => Object.hasOwn(known, one)) ?? names[0]
    if (name) input[name] = value
  }
  const required = Array.isArray(tool.parameters.required) ? tool.parameters.required : []
  for (const name of required.map(asText)) {
    if (!Object.hasOwn(input, name)) input[name] = placeholder(asRecord(known[name]))
  }
  return { name: tool.name, input }
}

function properties(tool: OfferedTool): JsonRecord | null {
  return asRecord(tool.parameters?.properties)
}

function placeholder(schema: JsonRecord | null): unknown {
  if (Array.isArray(schema?.enum)) return schema.enum[0]
  // Gemini writes the names of types in capitals.
  switch (asText(schema?.type).toLowerCase()) {
    case 'boolean':
      return false
    case 'number':
    case 'integer':
      return 1
    case 'array':
      return []
    case 'object':
      return {}
    default:
      return 'scripted'
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
