import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { logConfigWarnings } from '../../../platform/config/read-config.ts'
import { diagnostic, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { spawnPlainly } from '../../fixtures/spawn-plainly.ts'

const ROOT = findPackageRoot()

/**
 * Runs a program that throws an exception and then receives SIGTERM. `stop` is the code of the shutdown function.
 * @returns the exit code, and the log without times and stacks.
 */
async function run(stop: string, graceMs: number) {
  const source = (name: string): string => JSON.stringify(join(ROOT, 'platform', name))
  const program = `
import { onTermination } from ${source('process/drain.ts')}
import { createLogger } from ${source('logging/logger.ts')}
import { handleUncaughtExceptions } from ${source('process/uncaught-exceptions.ts')}
const logger = createLogger({ level: 'info', service: 'test' })
handleUncaughtExceptions(logger, () => process.kill(process.pid, 'SIGTERM'))
onTermination(${stop}, { logger, graceMs: ${graceMs} })
setInterval(() => {}, 60_000)
setImmediate(() => { throw new Error('made up') })
`
  const child = spawnPlainly(process.execPath, ['--input-type=module', '--eval', program])
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part) => (text += part))
  const [code] = await once(child, 'close')
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const { time: _, ...fields } = JSON.parse(line)
      return fields.err === undefined ? fields : { ...fields, err: Object.keys(fields.err) }
    })
  return { code, lines }
}

const service = 'test'
const ERROR_FIELDS = ['type', 'message', 'stack']
const EXCEPTION = {
  level: 'error',
  service,
  event: 'uncaught_exception',
  origin: 'uncaughtException',
  err: ERROR_FIELDS,
  msg: 'a defect: please report it',
}
const STOPPING = { level: 'info', service, event: 'stopping', reason: 'SIGTERM', msg: 'stopping' }

t.test('a clean shutdown logs exactly these fields', async (t) => {
  t.strictSame(await run('async () => {}', 600_000), {
    code: 0,
    lines: [EXCEPTION, STOPPING, { level: 'info', service, event: 'stopped', msg: 'stopped' }],
  })
})

t.test('a failed shutdown logs exactly these fields', async (t) => {
  const failed = { level: 'error', service, event: 'stop_failed', err: ERROR_FIELDS, msg: 'stopping failed' }
  t.strictSame(await run("async () => { throw new Error('made up') }", 600_000), {
    code: 1,
    lines: [EXCEPTION, STOPPING, failed],
  })
})

t.test('a shutdown that exceeds its deadline logs exactly these fields', async (t) => {
  const late = {
    level: 'error',
    service,
    event: 'stop_timeout',
    grace_ms: 1,
    msg: 'requests were still running at the end of the grace period',
  }
  t.strictSame(await run('() => new Promise(() => {})', 1), { code: 1, lines: [EXCEPTION, STOPPING, late] })
})

t.test('a configuration warning is logged with exactly these fields', async (t) => {
  const lines: unknown[] = []
  const logger = createLogger({ level: 'info', service }, { write: (line) => lines.push(JSON.parse(line)) })
  const location = wholeFile('config/gateway.yaml')
  logConfigWarnings(logger, [
    diagnostic('C999', 'it is odd', location),
    diagnostic('C999', 'it is odd', location, { hint: 'change it' }),
  ])
  const fields = { level: 'warn', service, event: 'config_warning', diagnostic: 'C999' }
  const shown = { file: 'config/gateway.yaml', length: 1 }
  t.match(lines, [
    { ...fields, place: shown, msg: 'it is odd' },
    { ...fields, place: shown, msg: 'it is odd; change it' },
  ])
  for (const line of lines)
    t.same(
      Object.keys(line as object).toSorted(),
      [...Object.keys(fields), 'msg', 'place', 'time'].toSorted(),
    )
})
