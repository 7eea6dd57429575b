import type { Call, Rule } from './call.ts'
import { deliveryRules } from './rules/delivery.ts'
import { fileRules } from './rules/files.ts'
import { gitRules } from './rules/git.ts'
import { networkRules } from './rules/network.ts'
import { privilegeRules } from './rules/privilege.ts'
import { ralphRules } from './rules/ralph.ts'
import { readRule, secretRules } from './rules/secrets.ts'
import { systemRules } from './rules/system.ts'
import type { Refusal } from './verdict.ts'

/** What is hardest to undo comes first: the first objection is the one that is told. */
const all: readonly Rule[] = [
  ...privilegeRules,
  ...systemRules,
  ...fileRules,
  ...gitRules,
  ...networkRules,
  ...secretRules,
  ...deliveryRules,
  ...ralphRules,
]

const byProgram = new Map<string, Rule[]>()
for (const rule of all)
  for (const program of rule.programs) byProgram.set(program, [...(byProgram.get(program) ?? []), rule])

export function rulesFor(program: string): readonly { judge(call: Call): Refusal | null }[] {
  const own = byProgram.get(program) ?? []
  const families = /^(?:mkfs|mke2fs|newfs)\./u.test(program) ? (byProgram.get('mkfs') ?? []) : []
  return [...own, ...families, readRule]
}
