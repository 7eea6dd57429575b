import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPipes } from '../../src/process/named-pipes.ts'
import { createWorkshop } from './workshop.ts'

let shop: ReturnType<typeof createWorkshop>
beforeEach(() => {
  shop = createWorkshop()
})
afterEach(() => shop.remove())

const make = (...names: string[]) => execFileSync('mkfifo', names.map(shop.at))
/** The listing itself takes one. */
const descriptors = () => readdirSync('/proc/self/fd').length

describe('the pipes of a program', () => {
  it('are read to their end, and their names are gone', async () => {
    make('p.out', 'p.err')
    const writer = openSync(shop.at('p.out'), constants.O_RDWR | constants.O_NONBLOCK)
    writeSync(writer, 'word')
    const pipes = openPipes(shop.at('p'))
    closeSync(writer)
    expect(readdirSync(shop.folder)).toEqual([])
    let text = ''
    for await (const chunk of pipes?.stdout ?? []) text += String(chunk)
    expect(text).toBe('word')
    pipes?.stderr.destroy()
  })

  it.each([
    ['both', []],
    ['the second', ['p.out']],
    ['the first', ['p.err']],
  ])('are none when a watcher takes %s of them away meanwhile, and no descriptor stays open', (_, left) => {
    make('x', ...left)
    const before = descriptors()
    expect(openPipes(shop.at('p'))).toBeNull()
    expect(descriptors()).toBe(before)
  })

  it('leave no descriptor open when the second cannot be opened', () => {
    make('p.out')
    writeFileSync(shop.at('file'), '')
    execFileSync('ln', ['-s', shop.at('file/below'), shop.at('p.err')])
    const before = descriptors()
    expect(() => openPipes(shop.at('p'))).toThrow('ENOTDIR')
    expect(descriptors()).toBe(before)
  })
})
