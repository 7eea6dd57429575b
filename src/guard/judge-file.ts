import { denial } from './judge.ts'
import { withoutMarks } from './marks.ts'
import { judgeRead } from './reads.ts'
import { newScope, type Scope } from './scope.ts'
import type { GuardContext, GuardVerdict, Refusal } from './verdict.ts'
import { runners } from './walk.ts'
import { judgeDelete, judgeWrite } from './writes.ts'

/** What a tool of an agent does with a file. */
export type FileTool = 'read' | 'write' | 'edit' | 'delete'

/** Whether an agent may do this with a file. The project's own files it may: CI files and package.json are watched by the engine. */
export function judgeFile(tool: FileTool, path: string, context: GuardContext): GuardVerdict {
  const text = withoutMarks(path).replace(/^~(?=\/|$)/u, context.home)
  const scope = newScope(context, 100, runners)
  const refusal = judge(tool, text, scope)
  return refusal ? denial(refusal, `${tool} ${path}`, path) : { verdict: 'allow' }
}

function judge(tool: FileTool, text: string, scope: Scope): Refusal | null {
  if (tool === 'read') return judgeRead({ program: 'the tool', text, scope, isReader: true })
  if (tool === 'delete') return judgeDelete({ program: 'the tool', text, scope })
  return judgeWrite({ program: 'the tool', text, scope })
}
