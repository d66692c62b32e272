import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { quietPort } from '../fixtures/quiet-port.ts'
import { sendExactly } from '../fixtures/send-exactly.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { PATIENT } from '../fixtures/start-scopegate.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'bin', 'scopegate.js')

// npm sends SIGTERM only to the shell of its script. Before the fix, the shell exited, and the gateway kept its port
// open.
t.test('scopegate dev in an npm script ends when the shell of npm ends', async (t) => {
  const port = await quietPort()
  const shell = spawnPlainly(
    'sh',
    ['-c', '"$0" "$1" dev --data "$2"; exit 7', process.execPath, COMMAND, t.testdir()],
    {
      env: { ...PATIENT, PORT: String(port), SCOPEGATE_MANAGEMENT__PORT: '0', npm_lifecycle_event: 'start' },
    },
  )
  const lines: string[] = []
  const ended = new Promise<void>((resolve) => shell.stdout.on('end', resolve))
  await new Promise<void>((resolve) => {
    createInterface({ input: shell.stdout }).on('line', (line) => {
      lines.push(line)
      if (line.startsWith('One line for each decision')) resolve()
    })
  })
  const ask = () => sendExactly(`http://127.0.0.1:${port}`, '/api/courses') // on a new connection
  t.equal((await ask()).status, 200)

  shell.kill('SIGTERM')
  await ended // resolves when the last program with this output has exited
  t.equal(lines.at(-1), 'scopegate: stopping …')
  await t.rejects(ask(), { code: 'ECONNREFUSED' })
})
