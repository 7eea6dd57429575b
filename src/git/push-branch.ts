import { git } from './git.ts'
import { plainDir, realDir } from './private-dir.ts'
import type { Repository } from './repository-type.ts'

const mostTime = 60_000

/**
 * Pushes one branch to a remote that the user named. The only place where git may use the network: with the user's own
 * configuration and credentials, but from a directory of ours, so that nothing an agent wrote into `.git/config` but the
 * address itself has a say, and no hook runs. Null when it worked, else why not.
 */
export async function pushBranch(
  repository: Repository,
  remote: string,
  branch: string,
): Promise<string | null> {
  const real = realDir(repository)
  const asked = await git(real, ['config', '--get', `remote.${remote}.pushurl`])
  const url = (
    asked.code === 0 ? asked : await git(real, ['config', '--get', `remote.${remote}.url`])
  ).stdout.trim()
  if (url === '') return `there is no remote '${remote}'`
  const commit = (await git(real, ['rev-parse', '--verify', '-q', `refs/heads/${branch}`])).stdout.trim()
  const args = ['push', '--quiet', '--no-verify', '--receive-pack=git-receive-pack', '--', url]
  const result = await git(plainDir(repository), [...args, `${commit}:refs/heads/${branch}`], {
    userConfig: true,
    env: networkEnv(),
    timeout: mostTime,
  }).catch((error: unknown) => ({ code: 1, stdout: '', stderr: error instanceof Error ? error.message : '' }))
  return result.code === 0 ? null : (result.stderr.trim().split('\n').at(-1) ?? 'git push failed')
}

function networkEnv(): Record<string, string> {
  const config = { 'core.hooksPath': '/dev/null', 'protocol.ext.allow': 'never', 'gc.auto': '0' }
  const env: Record<string, string> = {
    GIT_CONFIG_COUNT: String(Object.keys(config).length),
    GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
  }
  for (const [index, [key, value]] of Object.entries(config).entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key
    env[`GIT_CONFIG_VALUE_${index}`] = value
  }
  const agent = process.env.SSH_AUTH_SOCK
  return agent === undefined ? env : { ...env, SSH_AUTH_SOCK: agent }
}
