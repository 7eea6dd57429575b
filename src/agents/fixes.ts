import type { Fault } from '../core/outcome.ts'

/** How each CLI is installed. */
export const install = {
  claude:
    'Install it with `npm install -g @anthropic-ai/claude-code`, then run `claude` once to log in (or set ANTHROPIC_API_KEY).',
  codex: 'Install it with `npm install -g @openai/codex`, then run `codex login`.',
  copilot:
    'Install it with `npm install -g @github/copilot`, then run `copilot login` (or set COPILOT_GITHUB_TOKEN).',
  gemini:
    'Install it with `npm install -g @google/gemini-cli`, then run `gemini` once to log in (or set GEMINI_API_KEY).',
  opencode: 'Install it with `npm install -g opencode-ai`, then run `opencode auth login`.',
}

/** How one logs in to each of them. */
export const logIn = {
  claude: 'Run `claude` and type /login, or set ANTHROPIC_API_KEY.',
  codex:
    'Run `codex login`, or `printenv OPENAI_API_KEY | codex login --with-api-key`, or set CODEX_API_KEY (OPENAI_API_KEY alone is not read).',
  copilot:
    'Run `copilot login`, or set COPILOT_GITHUB_TOKEN, or COPILOT_PROVIDER_BASE_URL for a model of your own.',
  gemini:
    'Run `gemini` once to log in, or set GEMINI_API_KEY (with GOOGLE_GEMINI_BASE_URL also `security.auth.selectedType` in ~/.gemini/settings.json).',
  opencode: 'Run `opencode auth login`, or set the key of your provider (e.g. ANTHROPIC_API_KEY).',
}

/** What a person does about a fault that does not mend itself; null for all others. */
export function faultFix(agent: string, { kind, message }: Fault): string | null {
  if (kind !== 'auth' && kind !== 'permission') return null
  if (/could not be started/iu.test(message))
    return known(install, agent) ?? 'Correct the program under `agent`.'
  if (/credit|billing|quota|payment|limit: 0/iu.test(message))
    return `Top up the account that '${agent}' uses, or name another agent with --agent.`
  if (aboutModel.test(message)) return `Name a model that '${agent}' may use, with --model or \`model:\`.`
  if (kind === 'auth') return known(logIn, agent) ?? `Log in to '${agent}' in the way of its own CLI.`
  return `Look at the settings of '${agent}' for what they forbid: \`ralph doctor\` starts it as a run does.`
}

const aboutModel =
  /\bmodel\b.{0,80}(?:not found|does not exist|not (?:supported|available)|may not)|(?:unknown|selected|unsupported) model|model\w* ?not ?found|is not found for api version/iu

function known(fixes: Readonly<Record<string, string>>, agent: string): string | null {
  return Object.hasOwn(fixes, agent) ? (fixes[agent] ?? null) : null
}
