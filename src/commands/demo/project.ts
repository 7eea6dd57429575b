/** The throw-away project of `ralph demo`: a tiny shop with tests, two stories, and an agent that lies before it works. */
export const demoFiles: Record<string, string> = {
  'package.json': `{
  "name": "corner-shop",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
`,
  'src/cart.js': `/** A cart is a list of { name, cents, count }. */
export function addItem(cart, item) {
  return [...cart, item]
}
`,
  'test/cart.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addItem } from '../src/cart.js'

test('an item is added to the cart', () => {
  const cart = addItem([], { name: 'tea', cents: 250, count: 2 })
  assert.equal(cart.length, 1)
})
`,
  'CLAUDE.md': `# Corner shop

Plain JavaScript, no dependencies. Money is in whole cents. Tests: \`node --test\`.
`,
  'specs/epic-1/story-1.1-total-of-the-cart.md': `---
status: pending
priority: 1
depends_on: []
---
# Total of the cart

\`src/total.js\` exports \`total(cart)\`: the sum of cents times count.

## Acceptance criteria
- [ ] an empty cart costs 0
- [ ] two teas at 250 cents cost 500
- [ ] both are tested in \`test/total.test.js\`
`,
  'specs/epic-1/story-1.2-discount-on-the-total.md': `---
status: pending
priority: 1
depends_on: ["1.1"]
---
# Discount on the total

\`total(cart, percent)\` takes off a discount, rounded to whole cents. Without a discount nothing changes.

## Acceptance criteria
- [ ] 10 % off 500 cents are 450 cents
- [ ] \`total(cart)\` is as before
- [ ] tested in \`test/discount.test.js\`
`,
  'ralph.config.yaml': `preset: stories
agent: { name: scripted, script: agent.yaml }
verify: ["node --test"]
protect: ["specs/**"]
sandbox: none
`,
  'agent.yaml': `# The demo's agent plays this script. A real one is a coding-agent CLI: \`agent: claude\`.

# Story 1.1, first try: it does nothing and says that it is done.
- on: { task: "1.1", attempt: 1 }
  do:
    - say: I have implemented the total and all tests pass.
    - done: true

# Second try: it does the work.
- on: { task: "1.1" }
  do:
    - write:
        path: src/total.js
        text: |
          export function total(cart) {
            return cart.reduce((sum, item) => sum + item.cents * item.count, 0)
          }
    - write:
        path: test/total.test.js
        text: |
          import assert from 'node:assert/strict'
          import { test } from 'node:test'
          import { total } from '../src/total.js'

          test('an empty cart costs nothing', () => assert.equal(total([]), 0))
          test('two teas cost twice as much', () => assert.equal(total([{ cents: 250, count: 2 }]), 500))
    - commit: { message: "feat: total of the cart", paths: [src/total.js, test/total.test.js] }
    - learn: money is in whole cents
    - done: true

# Story 1.2, first try: it breaks what worked before.
- on: { task: "1.2", attempt: 1 }
  do:
    - write:
        path: src/total.js
        text: |
          export function total(cart, percent) {
            const sum = cart.reduce((sum, item) => sum + item.cents * item.count, 0)
            return Math.round(sum * (1 - percent / 100))
          }
    - say: The discount works.
    - done: true

- on: { task: "1.2" }
  do:
    - write:
        path: src/total.js
        text: |
          export function total(cart, percent = 0) {
            const sum = cart.reduce((sum, item) => sum + item.cents * item.count, 0)
            return Math.round(sum * (1 - percent / 100))
          }
    - write:
        path: test/discount.test.js
        text: |
          import assert from 'node:assert/strict'
          import { test } from 'node:test'
          import { total } from '../src/total.js'

          test('ten percent off', () => assert.equal(total([{ cents: 250, count: 2 }], 10), 450))
    - commit: { message: "feat: discount on the total", paths: [src/total.js, test/discount.test.js] }
    - done: true
`,
}
