/** Ways to run a command that hide it a little, and ways to only speak of one. */

export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A word that ends a document and does not stand in it. */
const end = (text: string): string => `EOT${text.length}`

/** Each takes a whole command line, whatever stands in it. */
export const wrapped: Record<string, (command: string) => string> = {
  'bash -c': c => `bash -c ${quoted(c)}`,
  'sh -ec': c => `sh -ec ${quoted(c)}`,
  'bash in bash': c => `bash -c ${quoted(`bash -c ${quoted(c)}`)}`,
  eval: c => `eval ${quoted(c)}`,
  'eval of a variable': c => `zz=${quoted(c)}; eval "$zz"`,
  subshell: c => `(${c}\n)`,
  group: c => `{ ${c}\n}`,
  'and list': c => `true && { ${c}\n}`,
  'or list': c => `false || { ${c}\n}`,
  if: c => `if true; then ${c}\nfi`,
  else: c => `if false; then :; else ${c}\nfi`,
  'for loop': c => `for i in 1; do ${c}\ndone`,
  'while loop': c => `while true; do ${c}\nbreak; done`,
  case: c => `case x in x) ${c}\n;; esac`,
  function: c => `f() { ${c}\n}; f`,
  'function keyword': c => `function f { ${c}\n}\nf`,
  substitution: c => `echo "$(${c}\n)"`,
  assignment: c => `x=$(${c}\n)`,
  'process substitution': c => `cat <(${c}\n)`,
  'in a test': c => `[[ -n $(${c}\n) ]]`,
  'default value': c => `: "\${x:-$(${c}\n)}"`,
  'here-document to a shell': c => `bash <<'${end(c)}'\n${c}\n${end(c)}`,
  'here-string to a shell': c => `bash <<< ${quoted(c)}`,
  'echo to a shell': c => `echo ${quoted(c)} | sh`,
  'printf to a shell': c => `printf '%s\\n' ${quoted(c)} | bash -s`,
  'cat to a shell': c => `cat <<'${end(c)}' | sh\n${c}\n${end(c)}`,
  base64: c => `echo ${Buffer.from(c).toString('base64')} | base64 -d | sh`,
  hex: c => `bash -c "$(echo ${Buffer.from(c).toString('hex')} | xxd -r -p)"`,
  'ansi quotes': c =>
    `eval $'${[...Buffer.from(c)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}'`,
  trap: c => `trap ${quoted(c)} EXIT`,
  alias: c => `alias zz=${quoted(c)}`,
  env: c => `env A=b bash -c ${quoted(c)}`,
  timeout: c => `timeout -k 1 5 bash -c ${quoted(c)}`,
  nohup: c => `nohup nice -n 5 bash -c ${quoted(c)} &`,
  exec: c => `exec bash -c ${quoted(c)}`,
  'program in a variable': c => `B=ba; "\${B}sh" -c ${quoted(c)}`,
  'program from a command': c => `$(echo bash) -c ${quoted(c)}`,
  'program by path': c => `/usr/bin/../bin/bash -c ${quoted(c)}`,
  'quotes in the name': c => `b''a"s"h -c ${quoted(c)}`,
  xargs: c => `echo x | xargs -I@@ bash -c ${quoted(c)}`,
  'find -exec': c => `find . -maxdepth 0 -exec bash -c ${quoted(c)} \\;`,
  parallel: c => `parallel ::: ${quoted(c)}`,
  watch: c => `watch -n 5 ${quoted(c)}`,
  flock: c => `flock /tmp/lock -c ${quoted(c)}`,
  'written, then run': c => `cat > /tmp/z.sh <<'${end(c)}'\n${c}\n${end(c)}\nbash /tmp/z.sh`,
  'written with tee, then run': c =>
    `tee z.sh <<'${end(c)}' > /dev/null\n${c}\n${end(c)}\nchmod +x z.sh; ./z.sh`,
  'git alias': c => `git -c alias.z=${quoted(`!${c}`)} z`,
  'python os.system': c => `python3 -c ${quoted(`import os; os.system(${JSON.stringify(c)})`)}`,
  'node execSync': c => `node -e ${quoted(`require("child_process").execSync(${JSON.stringify(c)})`)}`,
  'npx -c': c => `npx -c ${quoted(c)}`,
  background: c => `{ ${c}\n} & wait`,
  coprocess: c => `coproc { ${c}\n}`,
}

/** The command is only text here. */
export const spoken: Record<string, (command: string) => string> = {
  echo: c => `echo ${quoted(c)}`,
  'echo to a file': c => `echo ${quoted(c)} >> docs/notes.md`,
  printf: c => `printf '%s\\n' ${quoted(c)} | tee test/fixtures/commands.txt`,
  'commit message': c => `git commit -m ${quoted(c)}`,
  'commit message from a document': c => `git commit -m "$(cat <<'${end(c)}'\n${c}\n${end(c)}\n)"`,
  'document to a file': c => `cat > docs/danger.md <<'${end(c)}'\n${c}\n${end(c)}`,
  'grep pattern': c => `grep -rnF -- ${quoted(c)} src`,
  'rg pattern': c => `rg -F ${quoted(c)} src | head`,
  'test name': c => `npx vitest run -t ${quoted(c)}`,
  'jq argument': c => `jq -n --arg x ${quoted(c)} '$x'`,
  'a variable': c => `x=${quoted(c)}; echo "$x" > out.txt`,
  comparison: c => `[[ "$x" == ${quoted(c)} ]] && echo same`,
  'issue text': c => `gh issue create --title bug --body ${quoted(c)}`,
  comment: c => `npm test # ${c.replaceAll('\n', ' ')}`,
}
