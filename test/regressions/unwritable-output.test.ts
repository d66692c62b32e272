import t from 'tap'
import { COMMAND } from '../fixtures/run-command.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'

// Before the fix, `scopegate schema > file` with a full disk printed a stack trace.
t.test('reports an output that cannot be written, and exits with 1', async (t) => {
  // The file is open only for reading. Writes to this file and writes to a full disk fail in the same way.
  const child = spawnPlainly('sh', ['-c', `"${process.execPath}" "${COMMAND}" schema 1< "${COMMAND}"`])
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  t.equal(await new Promise((resolve) => child.on('close', resolve)), 1)
  t.match(said, /^scopegate: the output cannot be written: EBADF.*\n$/)
})
