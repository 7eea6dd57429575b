import { specFolder } from './task-file.ts'

export function scriptPath(spec: string): string {
  return `${specFolder(spec)}_ralph_loop/run-ralph.sh`
}

/** S0-78: the seed's script by name and words, with the real commands instead of its stand-ins (G-24). */
export const scriptText = `#!/bin/bash
# Ralph Loop State Machine — CLI-Agnostic
# One invocation = one step
#
#   run-ralph.sh docs/specs/001-feature/ [further options of \`ralph step\`]
#
# RALPH names the program, when it is not \`ralph\` in PATH.

HERE="$(cd "$(dirname "\${BASH_SOURCE[0]}")" && pwd)" || exit 1
ROOT="$(cd "$HERE/../../../.." && pwd)" || exit 1
SPEC_FOLDER="$(cd "\${1:-$HERE/..}" && pwd)" || exit 1
shift

exec \${RALPH:-ralph} -C "$ROOT" step --preset stepwise --style script --spec "$SPEC_FOLDER" "$@"
`
