import { type FilePoint, setFileFault, writeFileAtomicSync } from '../../../../src/store/atomic-file.ts'

// Replaces a file by a longer one and kills itself at the point that is named; `for-ever`: writes until it is killed.
const [path = '', point = ''] = process.argv.slice(2)
setFileFault((now: FilePoint) => {
  if (now === point) process.kill(process.pid, 'SIGKILL')
})
do {
  const size = point === 'for-ever' ? 3_000_000 : 9000
  writeFileAtomicSync(path, JSON.stringify({ state: 'new', filler: 'x'.repeat(size) }))
  process.stdout.write('written\n')
} while (point === 'for-ever')
