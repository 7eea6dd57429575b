// Which requirement has a test? Reads the ids of docs/requirements-ids.txt and looks for them in the names of the tests.
//
//   node scripts/trace.mjs                          a table per family, and the ids without a test
//   node scripts/trace.mjs --seed S4                one family only (S0 … S4, C, G, H)
//   node scripts/trace.mjs --json                   the same as JSON
//   node scripts/trace.mjs --check S4,G-14..G-23    exit code 1 when one of these has no test
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

function main() {
  const { values } = parseArgs({
    options: {
      root: { type: 'string', default: root },
      seed: { type: 'string' },
      check: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const titles = readTitles(values.root)
  const tests = readTests(values.root)
  for (const [id, names] of tests) {
    if (!titles.has(id))
      console.error(`trace: no requirement ${id}, named in ${names[0]?.file}: ${names[0]?.name}`)
  }
  const ids = [...titles.keys()].filter(id => !values.seed || familyOf(id) === values.seed)
  const rows = ids.map(id => ({ id, title: titles.get(id), tests: tests.get(id) ?? [] }))
  if (values.json) console.log(JSON.stringify({ families: summary(rows), requirements: rows }, null, 2))
  else printTable(rows)
  if (values.check) process.exitCode = check(values.check, titles, tests)
}

/** @returns {Map<string, string>} title by id, in the order of the file */
function readTitles(folder) {
  const lines = readFileSync(join(folder, 'docs/requirements-ids.txt'), 'utf8').split('\n').filter(Boolean)
  return new Map(lines.map(line => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]))
}

/** @returns {Map<string, { file: string, name: string }[]>} tests by the ids in their names */
function readTests(folder) {
  const found = new Map()
  for (const file of testFiles(join(folder, 'test'))) {
    for (const name of testNames(readFileSync(file, 'utf8'))) {
      for (const [id] of name.matchAll(/\b(?:S[0-4]-T?\d{2,3}|[CGH]-\d{2})\b/gu)) {
        found.set(id, [...(found.get(id) ?? []), { file: relative(folder, file), name }])
      }
    }
  }
  return found
}

function testFiles(folder) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const isTest = name => name.endsWith('.test.ts') || (/^contracts[/\\]/u.test(name) && name.endsWith('.ts'))
  return names
    .filter(isTest)
    .sort()
    .map(name => join(folder, name))
}

/** The text right after `it(`, `test.concurrent(`, `describe(` and, for tables, after `.each(…)(`. */
function testNames(source) {
  const call = /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gsu
  return [...source.matchAll(call)].map(match => match[2] ?? '')
}

function familyOf(id) {
  return id.slice(0, id.indexOf('-'))
}

function summary(rows) {
  const families = [...new Set(rows.map(row => familyOf(row.id)))]
  return families.map(family => {
    const all = rows.filter(row => familyOf(row.id) === family)
    return { family, covered: all.filter(row => row.tests.length > 0).length, total: all.length }
  })
}

function printTable(rows) {
  const families = summary(rows)
  const covered = families.reduce((sum, one) => sum + one.covered, 0)
  for (const one of [...families, { family: 'all', covered, total: rows.length }]) {
    console.log(`${one.family.padEnd(4)} ${String(one.covered).padStart(4)} / ${one.total}`)
  }
  const missing = rows.filter(row => row.tests.length === 0)
  if (missing.length === 0) return
  console.log('\nwithout a test:')
  for (const { family } of families) {
    const ids = missing.filter(row => familyOf(row.id) === family)
    if (ids.length === 0) continue
    // One family is a list to work through; all of them are an overview.
    if (families.length === 1) for (const row of ids) console.log(`  ${row.id.padEnd(7)} ${row.title}`)
    else console.log(`  ${ranges(ids, rows).join(', ')}`)
  }
}

/** `S0-01..S0-19`: neighbours in the list of requirements are drawn together. */
function ranges(missing, rows) {
  const place = new Map(rows.map((row, index) => [row.id, index]))
  const runs = []
  for (const { id } of missing) {
    const last = runs.at(-1)
    if (last && place.get(last.to) + 1 === place.get(id)) last.to = id
    else runs.push({ from: id, to: id })
  }
  return runs.map(run => (run.from === run.to ? run.from : `${run.from}..${run.to}`))
}

function check(selection, titles, tests) {
  const wanted = selection.split(',').flatMap(part => select(part.trim(), [...titles.keys()]))
  const missing = wanted.filter(id => !tests.has(id))
  if (missing.length === 0) return 0
  console.error(
    `trace: ${missing.length} of ${wanted.length} checked requirements have no test: ${missing.join(', ')}`,
  )
  return 1
}

/** `S4` is a family, `G-14..G-23` a range in the order of the file, `H-05` one id. */
function select(part, ids) {
  const [from, to = from] = part.split('..')
  const chosen = ids.some(id => familyOf(id) === part)
    ? ids.filter(id => familyOf(id) === part)
    : ids.slice(ids.indexOf(from), ids.indexOf(to) + 1)
  if (chosen.length > 0 && (ids.includes(from) || familyOf(chosen[0]) === part)) return chosen
  console.error(`trace: --check does not know '${part}'`)
  process.exit(2)
}

main()
