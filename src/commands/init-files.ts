export type Found = { preset: string; agents: string[]; verify: string[] | null; because: string | null }

/** `ralph.config.yaml`, as small as it can be and with a word on each line of it. */
export function configText({ preset, agents, verify, because }: Found): string {
  const agent = agents[0] ?? 'claude'
  return `# Ralph's configuration. Every key is optional; a flag on the command line wins over this file.

# The way of working: stories in specs/epic-N/story-N.M-title.md, one after the other.
preset: ${preset}

# The agent that does the work. Any program that reads a prompt on stdin will do: agent: { command: "my-agent" }
agent: ${agent}

${verifyText(verify, because)}
# What no agent may change.
protect:
  - "specs/**"

# limits:
#   iterations: 45   # per run
#   attempts: 3      # per story
#   timeout: 30m     # of one agent call
#   cost: 5          # US dollars per run
`
}

function verifyText(verify: string[] | null, because: string | null): string {
  const why = '# What proves a story done: Ralph runs these commands itself, after every attempt'
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

/** Claude Code reads other files by \`@name\`, so that the project's rules stand in one place. */
export const pointToAgents = '@AGENTS.md\n'

export function contextText(verify: string[] | null): string {
  return `# About this project

What an agent must know before it changes anything. Keep it short; it is read with every attempt.

## What it is

…

## Commands

${(verify ?? ['…']).map(command => `- \`${command}\`: all checks; must be green before a story is done`).join('\n')}

## Rules

- Change only what the story asks for.
- Every story comes with tests.
- Commit finished work with a message that names the story.
`
}
