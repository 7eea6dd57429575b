import { afterEach, describe, expect, it } from 'vitest'
import type { Initialised } from '../../src/commands/init.ts'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'

let project: TestProject

afterEach(() => project.cleanup())

/** A stand-in on the PATH: `init` and `validate` look whether the agent is there, they call no model. */
function withAgent(): { env: Record<string, string> } {
  project.write('../home/bin/claude', '#!/bin/sh\necho "9.9.9 (Claude Code)"\n', 0o755)
  return { env: { PATH: `${project.home}/bin:${process.env.PATH ?? ''}` } }
}

const nodeProject = {
  'package.json': '{ "name": "x", "scripts": { "test": "node --test" } }\n',
  'x.test.js': '',
}

describe('ralph init', () => {
  it('G-17 writes configuration, context and a first story from what it finds; `ralph validate` passes', async () => {
    project = createProject(nodeProject)
    const options = withAgent()
    const { code, stdout } = await ralph(project, ['init', '--name', 'Add a login'], options)
    expect(code).toBe(0)
    expect(stdout).toContain('+ ralph.config.yaml\n+ CLAUDE.md\n+ specs/epic-1/story-1.1-add-a-login.md\n')
    expect(stdout).toContain('agent:  claude\n')
    expect(stdout).toMatch(/verify: npm test/)
    expect(project.read('ralph.config.yaml')).toMatch(/^verify:\n {2}- "npm test/m)
    expect(project.read('CLAUDE.md')).toContain('npm test')
    expect(project.git('status', '--porcelain').trim().split('\n')).toHaveLength(3)
    const validated = await ralph(project, ['validate'], options)
    expect(validated.stdout).toContain('✓ 1 story')
    expect(validated.code).toBe(0)
  })

  it('never writes over anything, however often it is called', async () => {
    project = createProject({ ...nodeProject, 'CLAUDE.md': 'mine\n', 'specs/README.md': 'mine too\n' })
    const first = JSON.parse((await ralph(project, ['init', '--json'])).stdout) as Initialised
    expect(first).toMatchObject({ written: ['ralph.config.yaml'], kept: ['CLAUDE.md', 'specs/'] })
    project.write('ralph.config.yaml', 'preset: stories\n')
    const second = JSON.parse((await ralph(project, ['init', '--json'])).stdout) as Initialised
    expect(second).toMatchObject({ written: [], kept: ['ralph.config.yaml', 'CLAUDE.md', 'specs/'] })
    expect(project.read('ralph.config.yaml')).toBe('preset: stories\n')
    expect(project.read('CLAUDE.md')).toBe('mine\n')
  })

  it('says first what is still missing, and does not put words into the user’s mouth', async () => {
    project = createProject({ 'AGENTS.md': '# Rules\n' }, { git: false })
    const { code, stdout } = await ralph(project, ['init', '--yes'], { env: { PATH: '/usr/bin:/bin' } })
    expect(code).toBe(0)
    expect(stdout).toContain('verify: none found')
    expect(stdout).toContain('1. not a git repository: git init')
    expect(stdout).toContain('say in ralph.config.yaml which command proves the work (verify)')
    expect(project.read('ralph.config.yaml')).not.toMatch(/^verify:/m)
    expect(project.read('CLAUDE.md')).toBe('@AGENTS.md\n')
    expect(project.exists('.ralph')).toBe(false)
  })

  it('says which presets are ready', async () => {
    project = createProject()
    const later = await ralph(project, ['init', '--preset', 'gated'])
    expect(later.code).toBe(2)
    expect(later.stderr).toContain('Choose one of: stories')
    const unknown = await ralph(project, ['init', '--preset', 'waterfall'])
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toContain("unknown preset 'waterfall'")
    expect(project.exists('ralph.config.yaml')).toBe(false)
  })
})
