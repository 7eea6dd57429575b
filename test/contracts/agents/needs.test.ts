import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentNeeds } from '../../../src/agents/agent.ts'
import { addressesIn, hostOf } from '../../../src/agents/needs.ts'
import { cliNames, findAgent } from '../../../src/agents/registry.ts'
import { useFolder } from './play.ts'

const folder = useFolder()

async function needsOf(name: string, env: Record<string, string>): Promise<AgentNeeds> {
  const needs = (await findAgent(name, { command: 'true' })).needs?.(env)
  if (!needs) throw new Error(`${name} does not say what it needs`)
  return needs
}

function write(home: string, file: string, text: string): void {
  const place = path.join(home, file)
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, text)
}

describe.each(cliNames)('%s: what it needs in a box', name => {
  it('names hosts and absolute paths below the home, and brings nothing back but a login', async () => {
    const { hosts, copies } = await needsOf(name, { HOME: '/home/me' })
    expect(hosts.length).toBeGreaterThan(0)
    for (const host of hosts) expect(host).toMatch(/^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/u)
    expect(copies.length).toBeGreaterThan(0)
    for (const copy of copies) expect(copy.path).toMatch(/^\/home\/me\/\.[^/].*[^/]$/u)
    const back = copies.filter(copy => copy.back).map(copy => path.basename(copy.path))
    expect(back).toEqual(logins[name])
    expect(new Set(copies.map(copy => copy.path)).size).toBe(copies.length)
  })

  it('never shows what opens more than the agent itself', async () => {
    const { copies } = await needsOf(name, { HOME: '/home/me' })
    for (const copy of copies)
      expect(copy.path).not.toMatch(/\.ssh|\.aws|\.npmrc|\.netrc|\/gh\/|\.docker|\.gnupg|gcloud|\.gitconfig/u)
  })

  it('gives the same answer twice', async () => {
    const env = { HOME: folder() }
    expect(await needsOf(name, env)).toEqual(await needsOf(name, env))
  })
})

const logins: Record<string, string[]> = {
  claude: ['.credentials.json'],
  codex: ['auth.json'],
  copilot: [],
  gemini: ['oauth_creds.json'],
  opencode: ['auth.json'],
}

describe('hosts', () => {
  const local = 'http://127.0.0.1:8123/s/x'
  it.each([
    ['claude', { ANTHROPIC_BASE_URL: local }],
    ['codex', { CODEX_OSS_BASE_URL: local }],
    ['copilot', { COPILOT_PROVIDER_BASE_URL: local }],
    ['gemini', { GOOGLE_GEMINI_BASE_URL: local }],
    [
      'opencode',
      { OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { x: { options: { baseURL: local } } } }) },
    ],
  ])('%s: a base URL of the user is one of them', async (name, env) => {
    expect((await needsOf(name, { HOME: '/home/me', ...env })).hosts).toContain('127.0.0.1:8123')
  })

  it('leave out the usual model of claude, gemini and copilot when there is another', async () => {
    const hosts = async (name: string, env: Record<string, string>) =>
      (await needsOf(name, { HOME: '/h', ...env })).hosts
    expect(
      await hosts('claude', { ANTHROPIC_BASE_URL: 'https://gate.example', ANTHROPIC_AUTH_TOKEN: 't' }),
    ).toEqual(['gate.example'])
    expect(await hosts('gemini', { GOOGLE_GEMINI_BASE_URL: 'https://gate.example' })).not.toContain(
      'generativelanguage.googleapis.com',
    )
    expect(await hosts('copilot', { COPILOT_PROVIDER_BASE_URL: 'https://gate.example:8443/v1' })).toEqual([
      'gate.example:8443',
    ])
  })

  it('are read from settings where the address is there', async () => {
    const home = folder()
    write(
      home,
      '.codex/config.toml',
      'model_provider = "mine"\n[model_providers.mine]\nbase_url = "http://llm.example:9000/v1"\n',
    )
    write(home, '.claude/settings.json', '{ "env": { "ANTHROPIC_BASE_URL": "https://gate.example" } }')
    write(
      home,
      '.config/opencode/opencode.json',
      '{ "provider": { "x": { "options": { "baseURL": "http://localhost:11434/v1" } } } }',
    )
    write(home, '.local/share/opencode/auth.json', '{ "github-copilot": {}, "toString": {} }')
    const env = { HOME: home }
    expect((await needsOf('codex', env)).hosts).toContain('llm.example:9000')
    expect((await needsOf('claude', env)).hosts).toContain('gate.example')
    expect((await needsOf('opencode', env)).hosts).toEqual(
      expect.arrayContaining(['localhost:11434', '*.githubcopilot.com']),
    )
  })

  it('of opencode are those of the providers whose keys are there', async () => {
    const { hosts } = await needsOf('opencode', { HOME: '/h', GROQ_API_KEY: 'k' })
    expect(hosts).toContain('api.groq.com')
    expect(hosts).not.toContain('api.openai.com')
  })

  it('of a cloud are those of the region, with the keys of that cloud only', async () => {
    const bedrock = await needsOf('claude', {
      HOME: '/h',
      CLAUDE_CODE_USE_BEDROCK: '1',
      AWS_REGION: 'eu-west-1',
    })
    expect(bedrock.hosts).toEqual(['bedrock-runtime.eu-west-1.amazonaws.com'])
    expect(bedrock.copies).toContainEqual({ path: '/h/.aws/credentials', back: false })
    const vertex = await needsOf('gemini', {
      HOME: '/h',
      GOOGLE_GENAI_USE_VERTEXAI: 'true',
      GOOGLE_CLOUD_LOCATION: 'europe-west4',
      GOOGLE_APPLICATION_CREDENTIALS: '/k/key.json',
    })
    expect(vertex.hosts).toContain('europe-west4-aiplatform.googleapis.com')
    expect(vertex.copies).toContainEqual({ path: '/k/key.json', back: false })
  })

  it('of GitHub Enterprise are its own', async () => {
    const { hosts } = await needsOf('copilot', { HOME: '/h', GH_HOST: 'https://octo.ghe.com/' })
    expect(hosts).toEqual(expect.arrayContaining(['octo.ghe.com', '*.octo.ghe.com']))
  })
})

describe('copies', () => {
  it('leave the login file out when the key is in the environment', async () => {
    const back = async (name: string, env: Record<string, string>) =>
      (await needsOf(name, { HOME: '/h', ...env })).copies.filter(copy => copy.back)
    expect(await back('claude', { ANTHROPIC_API_KEY: 'k' })).toEqual([])
    expect(await back('codex', { CODEX_API_KEY: 'k' })).toEqual([])
  })

  it.each([
    ['claude', { CLAUDE_CONFIG_DIR: '/c' }, ['/c/.claude.json', '/c/settings.json', '/c/.credentials.json']],
    ['codex', { CODEX_HOME: '/c' }, ['/c/config.toml', '/c/auth.json']],
    ['copilot', { COPILOT_HOME: '/c' }, ['/c/config.json', '/c/mcp-config.json']],
    ['gemini', { GEMINI_CLI_HOME: '/c' }, ['/c/.gemini/settings.json', '/c/.gemini/oauth_creds.json']],
    [
      'opencode',
      { XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d', OPENCODE_CONFIG: '/e/my.json' },
      ['/c/opencode/opencode.json', '/d/opencode/auth.json', '/e/my.json'],
    ],
  ])('%s: are where the user has moved them', async (name, env, paths) => {
    const { copies } = await needsOf(name, { HOME: '/h', ...env })
    expect(copies.map(copy => copy.path)).toEqual(expect.arrayContaining(paths))
  })
})

describe('acp', () => {
  it('has the needs of an agent that is known, and none otherwise', async () => {
    const needs = async (command: string) =>
      (await findAgent('acp', { command, program: '/anywhere' })).needs?.({ HOME: '/h' })
    expect(await needs('/opt/bin/gemini --acp')).toEqual(await needsOf('gemini', { HOME: '/h' }))
    expect(await needs('toString')).toEqual({ hosts: [], copies: [] })
  })
})

describe('hostOf', () => {
  it.each([
    ['https://api.example.com/v1', ['api.example.com']],
    ['https://api.example.com:8443', ['api.example.com:8443']],
    ['http://localhost/v1', ['localhost:80']],
    ['https://127.0.0.1', ['127.0.0.1:443']],
    ['http://[::1]:11434', ['[::1]:11434']],
    ['api.example.com', []],
    ['', []],
    ['file:///etc/passwd', []],
    ['http://', []],
  ])('%s is %j', (address, hosts) => {
    expect(hostOf(address)).toEqual(hosts)
  })

  it('finds addresses in JSON, JSON with comments and TOML', () => {
    const text = `// x\n"baseURL": "https://a.example/v1",\nbaseURL = 'http://b.example:1/x'\n baseURL: "{env:X}"`
    expect(addressesIn(text, /baseURL/u)).toEqual(['a.example', 'b.example:1'])
  })
})
