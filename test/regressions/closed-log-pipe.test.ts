import { join } from 'node:path'
import t from 'tap'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'

const ROOT = join(import.meta.dirname, '..', '..')

// Before the fix, the logger wrote the remaining lines at exit in an endless loop. After the end of `scopegate dev`, no
// process read the log of the authorization server. The authorization server then did not exit.
const PROGRAM = `
  import { onTermination } from './platform/process/drain.ts'
  import { createLogger } from './platform/logging/logger.ts'
  const logger = createLogger({ level: 'info', service: 'test' })
  onTermination(async () => {}, { logger, graceMs: 60_000 })
  setInterval(() => {}, 60_000)
  process.stderr.write('ready')
`

t.test('onTermination() ends a process after the reader of its log has closed the pipe', async (t) => {
  const child = spawnPlainly(process.execPath, ['--input-type=module', '--eval', PROGRAM], { cwd: ROOT })
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  await new Promise<void>((resolve) =>
    child.stderr.on('data', (text) => {
      said += text
      if (said.includes('ready')) resolve()
    }),
  )
  child.stdout.destroy()
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})
