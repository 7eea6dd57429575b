/** A rule with everything it depends on inside the file, and the commands it runs. */
export type MakeTarget = { text: string; recipes: string[] }

/** What other words than these do to a rule cannot be told by reading lines, so the whole file counts. */
export function isSimpleMakefile(text: string): boolean {
  return !/^\s*(?:ifn?eq|ifn?def|define|-?include|sinclude|override|vpath)\b|\$[({](?:eval|call|shell|foreach)\b|^[^\t#]*%[^\t#]*:/mu.test(
    text,
  )
}

/** The rule of a target, the rules of what it needs, the variables these use, and what changes every rule. */
export function makeTarget(text: string, target: string): MakeTarget | null {
  const { rules, variables, globals } = parse(text)
  if (!rules.has(target)) return null
  const used: string[] = []
  const recipes: string[] = []
  const seen = new Set<string>()
  const visit = (name: string) => {
    const rule = rules.get(name)
    if (!rule || seen.has(name)) return
    seen.add(name)
    used.push([`${name}: ${rule.needs}`, ...rule.recipe].join('\n'))
    const filled = rule.recipe.map(line => fill(line, variables))
    recipes.push(...filled.map(line => line.replace(/^[@+-]+\s*/u, '')))
    for (const need of fill(rule.needs, variables).split(/\s+/u)) visit(need)
  }
  visit(target)
  const names = new Set<string>()
  collectVariables(used.join('\n'), variables, names)
  const assigned = [...names].map(name => `${name} = ${variables.get(name) ?? ''}`)
  return { text: [...globals, ...assigned, ...used].join('\n'), recipes }
}

type Rule = { needs: string; recipe: string[] }

function parse(text: string): {
  rules: Map<string, Rule>
  variables: Map<string, string>
  globals: string[]
} {
  const rules = new Map<string, Rule>()
  const variables = new Map<string, string>()
  const globals: string[] = []
  let open: Rule[] = []
  for (const line of text.replace(/\\\n[ \t]*/gu, ' ').split('\n')) {
    if (line.startsWith('\t')) {
      for (const rule of open) rule.recipe.push(line.slice(1).trim())
      continue
    }
    const bare = line.replace(/(?:^|\s)#.*$/u, '').trimEnd()
    if (bare === '') continue
    open = []
    if (
      /^(?:export\s+)?(?:SHELL|MAKEFLAGS|PATH|\.SHELLFLAGS)\s*[:?+]?=|^\.(?:IGNORE|ONESHELL|SILENT|DEFAULT)\b/u.test(
        bare,
      )
    )
      globals.push(bare)
    const variable = /^(?:export\s+)?([\w.-]+)\s*(?:::?:?|[?+!])?=\s*(.*)$/u.exec(bare)
    if (variable) {
      const name = variable[1] ?? ''
      variables.set(name, [variables.get(name), variable[2]].filter(part => part !== undefined).join(' '))
      continue
    }
    const rule = /^([^:=\s][^:=]*?)\s*::?(?!=)\s*(.*)$/u.exec(bare)
    if (!rule) continue
    const [needs = '', inline] = (rule[2] ?? '').split(';', 2)
    open = (rule[1] ?? '').split(/\s+/u).map(name => {
      const known = rules.get(name) ?? { needs: '', recipe: [] }
      known.needs = `${known.needs} ${needs}`.trim()
      if (inline !== undefined) known.recipe.push(inline.trim())
      rules.set(name, known)
      return known
    })
  }
  return { rules, variables, globals }
}

const reference = /\$[({]([\w.-]+)[)}]/gu

/** A few rounds are enough for variables that use variables; more would be a riddle. */
function fill(text: string, variables: Map<string, string>): string {
  let filled = text
  for (let round = 0; round < 3; round += 1) {
    filled = filled
      .replace(reference, (whole, name: string) =>
        name === 'MAKE' ? 'make' : (variables.get(name) ?? whole),
      )
      .slice(0, 10_000)
  }
  return filled
}

function collectVariables(text: string, variables: Map<string, string>, found: Set<string>): void {
  for (const [, name = ''] of text.matchAll(reference)) {
    if (found.has(name) || !variables.has(name)) continue
    found.add(name)
    collectVariables(variables.get(name) ?? '', variables, found)
  }
}
