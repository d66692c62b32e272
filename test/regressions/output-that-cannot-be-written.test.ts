import t from 'tap'
import { COMMAND } from '../fixtures/run-command.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'

// A full disk behind `scopegate schema > file` ended with a stack trace.
t.test(
  'reports an output that cannot be written, and exits with 1',
  { skip: process.platform === 'linux' ? false : 'there is no /dev/full on this system' },
  async (t) => {
    const child = spawnPlainly('sh', ['-c', `"${process.execPath}" "${COMMAND}" schema > /dev/full`])
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    t.equal(await new Promise((resolve) => child.on('close', resolve)), 1)
    t.match(said, /^scopegate: the output cannot be written: ENOSPC.*\n$/)
  },
)
