export type Found = { preset: string; agents: string[]; verify: string[] | null; because: string | null }

/** `ralph.config.yaml`, as small as it can be and with a word on each line of it. */
export function configText(
  { preset, agents, verify, because }: Found,
  about: string,
  protect: string[],
): string {
  const agent = agents[0] ?? 'claude'
  return `# Ralph's configuration. Every key is optional; a flag on the command line wins over this file.

# The way of working: ${about}.
preset: ${preset}

# The agent that does the work. Any program that reads a prompt on stdin will do: agent: { command: "my-agent" }
agent: ${agent}

${verifyText(verify, because)}
# What no agent may change.
protect:${protect.length === 0 ? ' []' : ''}
${protect.map(glob => `  - ${JSON.stringify(glob)}`).join('\n')}

# limits:
#   iterations: 45   # per run
#   attempts: 3      # per task
#   timeout: 30m     # of one agent call
#   cost: 5          # US dollars per run
`
}

function verifyText(verify: string[] | null, because: string | null): string {
  const why = '# What proves a task done: Ralph runs these commands itself, after every attempt'
  if (!verify) {
    return `${why}.
# None was found. Name yours; without one \`ralph run\` refuses to believe its agents.
# verify:
#   - npm test
`
  }
  return `${why}${because ? ` (${because})` : ''}.
verify:
${verify.map(command => `  - ${JSON.stringify(command)}`).join('\n')}
`
}
