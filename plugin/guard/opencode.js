// Asks Ralph's command guard before each tool call of opencode. Loaded by Ralph itself for runs without a sandbox.
import { spawn } from 'node:child_process'

export const RalphGuard = async ({ directory }) => ({
  'tool.execute.before': async ({ tool, sessionID, callID }, { args }) => {
    if (harmless.has(tool)) return
    const { code, stdout, stderr } = await ask({
      hook_event_name: 'PreToolUse',
      session_id: sessionID,
      tool_use_id: callID,
      cwd: directory,
      tool_name: tool,
      tool_input: args,
    })
    const reason = code === 0 ? refusal(stdout) : stderr.trim() || `the command guard failed (${code})`
    if (reason) throw new Error(reason)
  },
})

/** Tools that can do no harm, not even read a secret. */
const harmless = new Set(['glob', 'list', 'todoread', 'todowrite', 'websearch'])

function ask(call) {
  return new Promise(resolve => {
    const { RALPH_GUARD_NODE = '', RALPH_GUARD_HOOK = '' } = process.env
    const child = spawn(RALPH_GUARD_NODE, [RALPH_GUARD_HOOK], { stdio: 'pipe', timeout: 60_000 })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', chunk => (stdout += chunk))
    child.stderr.on('data', chunk => (stderr += chunk))
    child.on('error', error => resolve({ code: 'not started', stdout, stderr: error.message }))
    child.on('close', (code, signal) => resolve({ code: code ?? signal, stdout, stderr }))
    child.stdin.on('error', () => undefined)
    child.stdin.end(JSON.stringify(call))
  })
}

/** Why the call is refused; what cannot be read is a refusal too. */
function refusal(stdout) {
  if (stdout.trim() === '') return null
  try {
    const { hookSpecificOutput: said = {}, decision, reason } = JSON.parse(stdout)
    const denied = said.permissionDecision === 'deny' || decision === 'deny' || decision === 'block'
    return denied ? said.permissionDecisionReason || reason || 'refused by the command guard' : null
  } catch {
    return 'the command guard gave no answer that can be read'
  }
}
