import { expect, it } from 'vitest'
import { sandboxNames } from '../../src/sandbox/sbx-name.ts'

it('S1-39 names a sandbox after the project folder, with _ for every other character', () => {
  expect(sandboxNames('docker', '/home/me/my app.v2-x', 'claude')[0]).toBe('ralph-_home_me_my_app.v2-x')
  expect(sandboxNames('docker', '/home/mé/ü', 'claude')[0]).toBe('ralph-_home_m___')
})

it('has no _ for sbx, which takes letters, digits, hyphens and dots only', () => {
  for (const root of ['/home/me/my_app.v2', '/home/mé/a b', `/home/${'x'.repeat(200)}`])
    for (const name of sandboxNames('sbx', root, 'codex'))
      expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9.-]+$/u)
  expect(sandboxNames('sbx', '/home/me/my_app.v2', 'claude')[0]).toBe('ralph--home-me-my-app.v2')
})

it('keeps names short, and long folders apart by a hash', () => {
  const long = `/home/me/${'x'.repeat(100)}`
  const [a, ...none] = sandboxNames('docker', `${long}/a`, 'claude')
  const [b] = sandboxNames('docker', `${long}/b`, 'claude')
  expect(none).toEqual([])
  expect(a).not.toBe(b)
  expect(a.length).toBe(63)
  expect(sandboxNames('docker', `${long}/a`, 'claude')[0]).toBe(a)
})

it('has a second name, without a dot, for what the first does not tell apart', () => {
  const [first, second] = sandboxNames('docker', '/p/a.b', 'claude')
  const [other, otherSecond] = sandboxNames('docker', '/p/a.b', 'codex')
  expect(first).toBe(other)
  expect(second).toMatch(/^[\w-]+-claude-[0-9a-f]{8}$/u)
  expect(second).not.toBe(otherSecond)
  expect(second).not.toBe(sandboxNames('docker', '/p/a-b', 'claude')[1])
})
