/** What a program sees in a box: what it was given, without the ways out of it, and with the one that there is. */
export function boxEnvironment(
  given: Readonly<Record<string, string>>,
  options: { home: string; proxyPort: number },
): Record<string, string> {
  const kept = Object.entries(given).filter(
    ([name]) => !waysOut.has(name) && !proxyNames.includes(name.toUpperCase()),
  )
  const proxy = `http://127.0.0.1:${options.proxyPort}`
  const env: Record<string, string> = { ...Object.fromEntries(kept), HOME: options.home, TMPDIR: '/tmp' }
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    env[name] = proxy
    env[name.toLowerCase()] = proxy
  }
  env.NO_PROXY = here
  env.no_proxy = here
  // Node looks at the variables above only when told to.
  env.NODE_USE_ENV_PROXY = '1'
  return { ...env, ...unsigned(env) }
}

const here = 'localhost,127.0.0.1,::1'
const proxyNames = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'FTP_PROXY']

/** Sockets and keys that are not there; a program that finds the name would wait for them. */
const waysOut = new Set([
  ...['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'GPG_AGENT_INFO', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR'],
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DOCKER_HOST', 'CONTAINER_HOST', 'KRB5CCNAME'],
])

/** There are no keys in there: commits that the project wants signed would fail. */
function unsigned(env: Readonly<Record<string, string>>): Record<string, string> {
  if (env.GIT_CONFIG_COUNT !== undefined) return {}
  return {
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'commit.gpgSign',
    GIT_CONFIG_VALUE_0: 'false',
    GIT_CONFIG_KEY_1: 'tag.gpgSign',
    GIT_CONFIG_VALUE_1: 'false',
  }
}
