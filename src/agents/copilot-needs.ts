import type { AgentNeeds } from './agent.ts'
import { addressed, atHome, copied } from './needs.ts'

export function copilotNeeds(env: Record<string, string | undefined>): AgentNeeds {
  const own = addressed(env, ['COPILOT_PROVIDER_BASE_URL'])
  return {
    // With a model of the user's own, GitHub is asked for nothing.
    hosts: own.length > 0 ? own : github(env.COPILOT_GH_HOST || env.GH_HOST || ''),
    // Its tokens do not expire, so nothing is renewed; and they are in the same file as its settings. Left out on purpose:
    // the login of `gh`, which opens more than Copilot.
    copies: copied(env.COPILOT_HOME || atHome(env, '.copilot'), [
      'config.json',
      'settings.json',
      'mcp-config.json',
      'copilot-instructions.md',
    ]),
  }
}

function github(host: string): string[] {
  const name = host.replace(/^https?:\/\//u, '').replace(/\/.*$/u, '')
  const usual = ['api.github.com', '*.githubcopilot.com']
  return name === '' || name === 'github.com' ? usual : [name, `*.${name}`, ...usual]
}
