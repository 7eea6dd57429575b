import type { Answer, Step } from '../model-server/scenario.ts'

/** Stories that each ask for `answer N.M` in work/N.M.txt; the check is green while no answer is wrong. */
export function storyFiles(ids: string[]): Record<string, string> {
  return {
    'CLAUDE.md': '# Project\n',
    'check.sh': check,
    'src/existing.txt': 'as it was\n',
    'work/.gitkeep': '',
    ...Object.fromEntries(ids.map(id => [specPath(id), spec(id)])),
  }
}

const check = `#!/bin/sh
for file in work/*.txt; do
  [ -e "$file" ] || continue
  grep -qx "answer $(basename "$file" .txt)" "$file" || { echo "wrong answer in $file"; exit 1; }
done
echo "no wrong answers"
`

export function specPath(id: string): string {
  return `specs/epic-${id.split('.')[0]}/story-${id}-answer.md`
}

export function spec(id: string, more = ''): string {
  return `---\nstatus: pending\n---\n# Answer ${id}\n\nWrite \`answer ${id}\` to work/${id}.txt.\n${more}`
}

/** An honest attempt: the file by the CLI's own tool, the commit by its shell, the claim. */
export function honest(root: string, id = '1.1'): [Answer, Answer, Answer] {
  return [write(root, id), commit(id), claim(id)]
}

export function write(root: string, id = '1.1'): Answer {
  const file = { path: `${root}/work/${id}.txt`, content: `answer ${id}\n` }
  return { text: 'I will write the answer.', tools: [{ write: file }] }
}

export function commit(id = '1.1'): Answer {
  const file = `work/${id}.txt`
  return {
    text: 'Now the commit.',
    tools: [{ shell: `git add ${file} && git commit -qm 'feat: answer ${id}'` }],
  }
}

export function claim(id = '1.1'): Answer {
  return { text: `All is done.\n\n<ralph>DONE ${id}</ralph>` }
}

/** One story after the other, each in a conversation of its own: the first to be asked for is the first to be told. */
export function oneAfterTheOther(attempts: Answer[][]): Step[] {
  const longest = Math.max(...attempts.map(turns => turns.length))
  return Array.from({ length: longest }, (_, index) => ({
    attempts: attempts.flatMap(turns => turns[index] ?? []),
  }))
}
