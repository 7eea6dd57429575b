import { afterEach, expect, it } from 'vitest'
import { ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1)

it('the last line of a run that an agent’s fault holds names what mends it, and so does that of explain', async () => {
  project = storyProject({ script: [{ do: honest() }] })
  const body = `#!/bin/sh
case "$1" in --version) echo "codex-cli 0.166.0"; exit;; esac
echo '{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Missing bearer"}}'
exit 1
`
  project.write('../home/bin/codex', body, 0o755)
  const config = project.read('ralph.config.yaml').replace(/^agent: .*$/mu, 'agent: codex')
  project.write('ralph.config.yaml', config)
  project.git('commit', '-qam', 'another agent')
  const env = { PATH: `${project.home}/bin:${process.env.PATH ?? ''}` }
  const run = await ralph(project, ['run', '--no-sandbox'], { env })
  expect(run.code, run.stdout + run.stderr).toBe(1)
  expect(lastLine(run.stdout)).toBe(
    '  → Run `codex login`, or `printenv OPENAI_API_KEY | codex login --with-api-key`, or set CODEX_API_KEY (OPENAI_API_KEY alone is not read).',
  )
  for (const words of [['explain'], ['explain', '1.1']])
    expect(lastLine((await ralph(project, words)).stdout)).toContain('codex login')
  const { fix } = JSON.parse((await ralph(project, ['explain', '--json'])).stdout) as { fix: string }
  expect(fix).toContain('codex login')
})
