import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { findAgent } from '../../src/agents/registry.ts'
import { claude, codex, copilot, gemini, madeUpKey, opencode, type RealCli } from './clis.ts'
import { useStands } from './direct.ts'

const stands = useStands()

/** As the CLI would be after a login: keys and settings in files, nothing in the environment that is not an address. */
type LoggedIn = { cli: RealCli; files(url: string): Record<string, unknown>; hidden: string[] }

const inAYear = Date.now() + 365 * 24 * 3_600_000

const loggedIn: LoggedIn[] = [
  {
    cli: claude,
    hidden: ['CLAUDE_CODE_OAUTH_TOKEN'],
    files: () => ({
      '.claude.json': { hasCompletedOnboarding: true },
      '.claude/.credentials.json': {
        claudeAiOauth: {
          ...{ accessToken: madeUpKey, refreshToken: madeUpKey, expiresAt: inAYear },
          ...{ scopes: ['user:inference', 'user:profile'], subscriptionType: 'max' },
        },
      },
    }),
  },
  {
    cli: { ...codex, agent: () => ({ name: 'codex', model: 'gpt-5.4' }) },
    hidden: ['CODEX_API_KEY'],
    files: url => ({
      '.codex/auth.json': { OPENAI_API_KEY: madeUpKey },
      '.codex/config.toml': [
        'model_provider = "scripted"',
        '[features]',
        'plugins = false',
        '[model_providers.scripted]',
        'name = "scripted"',
        `base_url = "${url}/v1"`,
        'wire_api = "responses"',
        'requires_openai_auth = true',
        'supports_websockets = false',
      ].join('\n'),
    }),
  },
  // Its login is in the system's keychain, or in the environment: nothing that could be copied and tried here.
  { cli: copilot, hidden: [], files: () => ({ '.copilot/config.json': { trusted_folders: [] } }) },
  {
    cli: gemini,
    hidden: ['GEMINI_API_KEY'],
    files: () => ({ '.gemini/.env': `GEMINI_API_KEY=${madeUpKey}\n` }),
  },
  {
    cli: opencode,
    hidden: ['OPENCODE_CONFIG_CONTENT'],
    files: url => ({
      '.local/share/opencode/auth.json': { scripted: { type: 'api', key: madeUpKey } },
      '.config/opencode/opencode.json': withoutKey(url),
    }),
  },
]

function withoutKey(url: string): unknown {
  const config = JSON.parse(opencode.env(url).OPENCODE_CONFIG_CONTENT ?? '') as {
    provider: { scripted: { options: Record<string, unknown> } }
  }
  config.provider.scripted.options = { baseURL: `${url}/v1` }
  return config
}

it.each(loggedIn)(
  '$cli.name: works with the copies of its login and settings alone, and names where its model is',
  async ({ cli, files, hidden }) => {
    const stand = stands(cli)
    for (const [name, value] of Object.entries(files(stand.url))) {
      const file = path.join(stand.home, name)
      mkdirSync(path.dirname(file), { recursive: true })
      writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
    }
    writeFileSync(path.join(stand.home, 'private.txt'), 'not for agents')
    const home = path.join(path.dirname(stand.root), 'fresh-home')
    mkdirSync(home)
    const gone = Object.fromEntries(hidden.map(name => [name, undefined]))
    const outside = { ...cli.env(stand.url), ...gone, HOME: stand.home }
    const needs = (await findAgent(cli.name)).needs?.(outside)
    for (const copy of needs?.copies ?? []) {
      if (!existsSync(copy.path)) continue
      const inside = path.join(home, path.relative(stand.home, copy.path))
      mkdirSync(path.dirname(inside), { recursive: true })
      copyFileSync(copy.path, inside)
    }
    expect(readdirSync(home)).not.toContain('private.txt')
    expect(needs?.hosts).toContain(new URL(stand.url).host)

    const { report, fault } = await stand.attempt(
      [{ text: 'I write.', tools: [{ shell: 'echo harmless > ran.txt' }] }, { text: 'All done.' }],
      { env: { ...gone, HOME: home } },
    )
    expect(fault, JSON.stringify(report)).toBeNull()
    expect(report.message).toBe('All done.')
    expect(existsSync(path.join(stand.root, 'ran.txt'))).toBe(true)
  },
)
