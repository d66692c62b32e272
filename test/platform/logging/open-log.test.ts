import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { spawnPlainly } from '../../fixtures/spawn-plainly.ts'

const LOGGER = JSON.stringify(join(findPackageRoot(), 'platform', 'logging', 'logger.ts'))

/** Starts a program with a logger on its standard output, which is a pipe. */
function start(body: string) {
  const program = `
import { createLogger, writeLines, whenWritten } from ${LOGGER}
const logger = createLogger({ level: 'info', service: 'test' })
const write = writeLines(logger)
${body}
`
  return spawnPlainly(process.execPath, ['--input-type=module', '--eval', program])
}

t.test('the log buffers 8 Mi characters, and reports dropped lines', async (t) => {
  // The log writes the first line immediately, and the next eight lines fill the buffer.
  const child = start(`
const line = 'x'.repeat(1_048_575) + '\\n'
for (let count = 0; count < 9; count++) write(line)
write('dropped\\n')
write('dropped\\n')
`)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part) => (text += part))
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  const lines = text.split('\n')
  t.equal(lines.length, 11)
  t.ok(lines.slice(0, 9).every((line) => line.length === 1_048_575))
  t.match(
    lines[9],
    /^\{"level":"warn","time":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ","service":"test","event":"log_lines_dropped","lines":2,"msg":"log lines dropped: the reader was too slow"\}$/,
  )
})

t.test('the log writes the buffered lines when the process exits', async (t) => {
  const child = start(`
logger.info('first')
await whenWritten(logger, 600_000)
write('in flight\\n')
write('held\\n')
process.exit(7)
`)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part) => (text += part))
  const [code] = await once(child, 'close')
  t.equal(code, 7)
  t.match(text, /"msg":"first"\}\n/)
  t.match(text, /^held$/m)
})

t.test('a process continues to run when the reader of its standard output ends', async (t) => {
  const child = start(`
process.stdin.once('data', () => {
  process.stdout.write('x', () => setImmediate(() => { write('y\\n'); setImmediate(() => process.exit(7)) }))
})
process.stderr.write('ready')
`)
  await once(child.stderr, 'data')
  child.stdout.destroy()
  await once(child.stdout, 'close')
  const closed = once(child, 'exit')
  child.stdin.write('end\n')
  t.same(await closed, [7, null])
})
