// Runs a program in a network of its own that ends at this machine: nothing it starts can reach the outside.
//
//   node scripts/offline.mjs <program> [argument …]
//
// Where the system does not allow that (another one than Linux, a container without the right), it says so and runs the
// program in the ordinary network.
import { spawn, spawnSync } from 'node:child_process'
import { constants } from 'node:os'

/** `lo` is down in a new network. Not every machine has `ip`; perl comes with git. */
const loopback = [
  'ip link set lo up 2>/dev/null',
  'ifconfig lo up 2>/dev/null',
  // SIOCSIFFLAGS with IFF_UP and IFF_RUNNING.
  `perl -e 'my $lo = pack("a16sx14", "lo", 0x41); socket(S, 2, 2, 0) && ioctl(S, 0x8914, $lo) or exit 1' 2>/dev/null`,
].join(' || ')

const inside = `{ ${loopback}; } && exec "$@"`

/** Whoever is not root becomes it for the namespace only. */
const ways = [
  ['unshare', '--net'],
  ['unshare', '--map-root-user', '--net'],
]

const [program, ...args] = process.argv.slice(2)
if (program === undefined) {
  process.stderr.write('usage: node scripts/offline.mjs <program> [argument …]\n')
  process.exit(2)
}

const way = process.platform === 'linux' ? ways.find(isAllowed) : undefined
if (!way) tellLoudly()
const [first, ...rest] = way ? [...way, 'sh', '-c', inside, 'sh', program, ...args] : [program, ...args]
const child = spawn(first, rest, { stdio: 'inherit', shell: process.platform === 'win32' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', error => {
  process.stderr.write(`offline: ${error.message}\n`)
  process.exit(127)
})
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))

function isAllowed([name, ...options]) {
  return spawnSync(name, [...options, 'sh', '-c', inside, 'sh', 'true'], { stdio: 'ignore' }).status === 0
}

function tellLoudly() {
  const lines = [
    'This machine does not allow a network of its own (`unshare --net`).',
    'What follows runs in the ordinary network. The agents are led to 127.0.0.1 by their settings,',
    'with a made-up key; but nothing keeps them from reaching the outside.',
  ]
  const rule = '!'.repeat(Math.max(...lines.map(line => line.length)))
  process.stderr.write(`${[rule, ...lines, rule].join('\n')}\n`)
}
