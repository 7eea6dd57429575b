import { describe, expect, it } from 'vitest'
import { addressKind } from '../../src/sandbox/proxy-address.ts'
import { mayReach, plainHost, portsHere, readRules, ruleFor } from '../../src/sandbox/proxy-rules.ts'

const allows = (hosts: string[], host: string, port: number) => ruleFor(readRules(hosts), host, port) !== null

describe('which hosts a list allows', () => {
  it.each([
    [['example.com'], 'example.com', 443, true],
    [['example.com'], 'example.com', 80, true],
    [['example.com'], 'example.com', 8443, false],
    [['example.com'], 'www.example.com', 443, false],
    [['example.com'], 'notexample.com', 443, false],
    [['example.com'], 'example.com.evil.com', 443, false],
    [['*.example.com'], 'a.b.example.com', 443, true],
    [['*.example.com'], 'example.com', 443, false],
    [['*.example.com'], 'evilexample.com', 443, false],
    [['example.com:8443'], 'example.com', 8443, true],
    [['example.com:8443'], 'example.com', 443, false],
    [['EXAMPLE.com.'], 'example.com', 443, true],
    [['bücher.example'], 'xn--bcher-kva.example', 443, true],
    [['10.0.0.7:8080'], '10.0.0.7', 8080, true],
    [['localhost:5432'], '127.0.0.1', 5432, true],
    [['127.0.0.1:5432'], 'localhost', 5432, true],
    [['[::1]:5432'], 'localhost', 5432, true],
    [['localhost:5432'], 'localhost', 5433, false],
    [['*'], 'anything.example', 443, true],
    [['*'], 'anything.example', 22, false],
    [['*'], '10.0.0.7', 80, false],
    [['*'], 'localhost', 80, false],
    [['*'], '127.0.0.1', 80, false],
    [[], 'example.com', 443, false],
  ])('%j: %s:%d → %s', (hosts, host, port, expected) => {
    expect(allows(hosts, host, port)).toBe(expected)
  })

  it.each([
    '',
    'http://example.com',
    'example.com/path',
    'a b',
    'example.com:0',
    'example.com:99999',
    'a:b:c',
    '-',
  ])('says what is wrong with %j', text => {
    expect(() => readRules([text])).toThrow(/is not a host that could be allowed/)
  })

  it('this machine is allowed port by port alone', () => {
    expect(() => readRules(['localhost'])).toThrow(/this machine/)
    expect(portsHere(readRules(['localhost:5432', '127.0.0.1:5432', 'example.com:9', '*:80']))).toEqual([
      5432,
    ])
  })

  it.each([
    ['Example.COM.', 'example.com'],
    ['[::1]', '::1'],
    ['[0:0:0:0:0:0:0:1]', '::1'],
    ['exa mple.com', null],
    ['example.com@evil.com', null],
    ['example.com\r\nX: y', null],
    ['a..b', null],
    ['', null],
    ['x'.repeat(300), null],
  ])('%j is compared as %j', (text, expected) => {
    expect(plainHost(text)).toBe(expected)
  })
})

describe('where a name may lead', () => {
  it.each([
    ['93.184.216.34', 'public'],
    ['2606:2800:220:1::1', 'public'],
    ['10.1.2.3', 'private'],
    ['172.31.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['fd12:3456::1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['127.9.9.9', 'loopback'],
    ['0.0.0.0', 'loopback'],
    ['::', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['169.254.169.254', 'forbidden'],
    ['::ffff:169.254.169.254', 'forbidden'],
    ['64:ff9b::a9fe:a9fe', 'forbidden'],
    ['fe80::1', 'forbidden'],
    ['fe80::1%eth0', 'forbidden'],
    ['fd00:ec2::254', 'forbidden'],
    ['100.100.100.200', 'forbidden'],
    ['168.63.129.16', 'forbidden'],
    ['224.0.0.1', 'forbidden'],
    ['255.255.255.255', 'forbidden'],
    ['2002:7f00:1::', 'forbidden'],
    ['ff02::1', 'forbidden'],
    ['not an address', 'forbidden'],
  ])('%s is %s', (address, kind) => {
    expect(addressKind(address)).toBe(kind)
  })

  const may = (rule: string, address: string) => readRules([rule]).every(one => mayReach(one, address))
  it.each([
    // A star trusts everybody who has a name below it.
    ['*.example.com', '10.0.0.1', false],
    ['*.example.com', '127.0.0.1', false],
    ['*', '127.0.0.1', false],
    ['git.corp.example', '10.0.0.1', true],
    ['git.corp.example', '127.0.0.1', false],
    ['model.example:8080', '127.0.0.1', true],
    ['model.example:8080', '169.254.169.254', false],
    ['example.com', '169.254.169.254', false],
    ['169.254.169.254', '169.254.169.254', true],
  ])('%s may lead to %s: %s', (rule, address, expected) => {
    expect(may(rule, address)).toBe(expected)
  })
})
