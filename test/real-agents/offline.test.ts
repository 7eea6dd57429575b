import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const offline = fileURLToPath(new URL('../../scripts/offline.mjs', import.meta.url))

/** Connects to an address that is kept free for examples, and to a server of its own. */
const program = `
const net = require('node:net')
const connect = (port, host) => new Promise(resolve => {
  const socket = net.connect({ port, host, timeout: 3000 })
  socket.on('connect', () => resolve('connected')).on('timeout', () => resolve('timeout'))
  socket.on('error', error => resolve(error.code))
})
const server = net.createServer().listen(0, '127.0.0.1', async () => {
  console.log(await connect(server.address().port, '127.0.0.1'), await connect(9, '192.0.2.1'))
  process.exit(7)
})
`

it('what is run offline reaches this machine only, or says loudly that it could do more', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [offline, process.execPath, '-e', program], {
    encoding: 'utf8',
  })
  expect(status).toBe(7)
  expect(stdout).toMatch(/^connected /u)
  if (!stderr.includes('does not allow a network of its own'))
    expect(stdout.trim()).toBe('connected ENETUNREACH')
})
