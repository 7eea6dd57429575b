import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'

describe('ralph completion', () => {
  let project: TestProject

  beforeAll(() => {
    project = createProject({}, { git: false })
  })

  afterAll(() => project.cleanup())

  const script = async (shell: string) => {
    const { code, stdout } = await ralph(project, ['completion', shell])
    expect(code).toBe(0)
    project.write(`ralph.${shell}`, stdout)
    return stdout
  }

  it('completes commands, their options and their words in bash', async () => {
    await script('bash')
    const complete = (...words: string[]) =>
      execFileSync(
        'bash',
        [
          '-c',
          `source ralph.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ralph; printf "%s\\n" "\${COMPREPLY[@]}"`,
          'bash',
          ...words,
        ],
        { cwd: project.root, encoding: 'utf8' },
      )
        .trim()
        .split('\n')
    expect(complete('ralph', 'st')).toEqual(['step', 'status', 'steer'])
    expect(complete('ralph', 'status', '--')).toEqual(expect.arrayContaining(['--json', '--all', '--watch']))
    expect(complete('ralph', '-C', 'status', 'ver')).toEqual(['verify'])
    expect(complete('ralph', 'completion', 'f')).toEqual(['fish'])
    expect(complete('ralph', 'run', '--agent', '')).toEqual([''])
    expect(complete('ralph', 'journal', 'e')).toEqual(['export'])
  })

  it('names every command and option for zsh, in a script that zsh can read', async () => {
    const text = await script('zsh')
    expect(text).toMatch(/^#compdef ralph\n/)
    expect(text).toContain("'evidence:why a task counts as done'")
    expect(text).toContain("'(-n --max-iterations)'{-n,--max-iterations}'[iterations of this run")
    execFileSync('zsh', ['-n', 'ralph.zsh'], { cwd: project.root })
  })

  it('names every command and option for fish, in a script that fish can read', async () => {
    const text = await script('fish')
    expect(text).toContain(
      "complete -c ralph -f -n '__fish_use_subcommand' -a evidence -d 'why a task counts as done'",
    )
    expect(text).toContain(
      "complete -c ralph -n '__fish_seen_subcommand_from logs' -l follow -s f -d 'go on as it happens'",
    )
    const found = execFileSync('fish', ['-c', 'source ralph.fish; complete -C "ralph ver"'], {
      cwd: project.root,
      encoding: 'utf8',
    })
    expect(found).toContain('verify\trun the gates again on what is there today')
  })

  it('refuses another shell', async () => {
    const { code, stderr } = await ralph(project, ['completion', 'tcsh'])
    expect(code).toBe(2)
    expect(stderr).toContain("no completion for 'tcsh'\n  → Choose one of: bash, zsh, fish.")
  })
})
