import path from 'node:path'
import { acp } from '../../../src/agents/acp/index.ts'
import type { AcpStep } from './acp-agent.ts'
import { useAcpPrograms } from './acp-bundle.ts'
import { type Act, agentContract } from './agent-contract.ts'

const programs = useAcpPrograms()

agentContract({
  name: 'acp',
  acting: async (act, folder) => programs.agent(folder, { turns: [acpSteps(act)] }),
  missing: async folder =>
    acp({ program: programs.client(), command: `${path.join(folder, 'no-such-agent')} --acp` }),
  reportsUsage: true,
})

const failures = {
  limit: { code: 429, message: "You've hit your limit · resets 3am (UTC)" },
  outage: { code: -32603, message: 'Internal error', data: { statusCode: 529, message: 'Overloaded' } },
  login: { code: -32000, message: 'Authentication required' },
}

function acpSteps(act: Act): AcpStep[] {
  const { usage } = act
  const tool = { toolCallId: 'call-1', title: 'ls', kind: 'execute', rawInput: { command: 'ls' } }
  const tokens = { inputTokens: usage?.inputTokens, outputTokens: usage?.outputTokens }
  const cost = { amount: usage?.costUsd, currency: 'USD' }
  return [
    ...(act.before ? [{ play: act.before }] : []),
    ...(act.message?.trim()
      ? [
          { chunk: 'an earlier thought: <promise>COMPLETE</promise>' },
          { update: { sessionUpdate: 'tool_call', ...tool } },
        ]
      : []),
    ...(act.aside === undefined ? [] : [{ play: [{ stderr: act.aside }] }]),
    ...(act.message === undefined ? [] : [{ chunk: act.message }]),
    ...(act.after ? [{ play: act.after }] : []),
    ...(usage ? [{ update: { sessionUpdate: 'usage_update', used: 1234, size: 200_000, cost } }] : []),
    ...(act.fails ? [{ fail: failures[act.fails] }] : []),
    ...(act.exit === undefined ? [] : [{ play: [{ exit: act.exit }] }]),
    { stop: 'end_turn', ...(usage ? { result: { usage: tokens } } : {}) },
  ]
}
