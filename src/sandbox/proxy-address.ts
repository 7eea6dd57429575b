import { BlockList, isIP } from 'node:net'

export type AddressKind = 'public' | 'private' | 'loopback' | 'forbidden'

/** What an address leads to. `forbidden`: link-local, the key services of clouds, multicast, and what nobody should have. */
export function addressKind(address: string): AddressKind {
  const plain = embedded(address)
  const version = isIP(plain)
  if (version === 0) return 'forbidden'
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (forbidden.check(plain, family)) return 'forbidden'
  if (loopback.check(plain, family)) return 'loopback'
  return local.check(plain, family) ? 'private' : 'public'
}

/** An IPv4 address in IPv6 clothes is judged as what it is. */
function embedded(address: string): string {
  if (isIP(address) !== 6) return address
  // A zone (`%eth0`) is no part of it.
  const short = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1)
  const [, high, low] = /^(?:::ffff:|::|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short) ?? []
  if (high === undefined || low === undefined) return short
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`
}

const loopback = listOf(['127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128'])

const local = listOf(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'])

const forbidden = listOf([
  '169.254.0.0/16',
  'fe80::/10',
  // Services that give a cloud machine its keys, where they are not link-local.
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  // Multicast, broadcast, test and reserved ranges, and tunnels whose end is not to be seen.
  ...['224.0.0.0/4', '240.0.0.0/4', '192.0.0.0/24', '198.18.0.0/15'],
  ...['ff00::/8', 'fec0::/10', '100::/64', '2001::/32', '2002::/16', '64:ff9b:1::/48'],
])

function listOf(networks: string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}
