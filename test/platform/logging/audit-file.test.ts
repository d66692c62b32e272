import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { openAuditLog } from '../../../platform/logging/audit-log.ts'
import type { LogFormat } from '../../../platform/logging/log-schema.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { aFifo } from '../../fixtures/a-fifo.ts'
import { until } from '../../fixtures/until.ts'

type Line = Readonly<Record<string, unknown>>

const parse = (text: string): readonly Line[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
const actionsOf = (lines: readonly Line[]) => lines.map(({ action, event }) => action ?? event)

/** Opens an audit log of a service whose log is in memory. */
async function start(t: Test, file: string, format: LogFormat = 'default') {
  let text = ''
  const logger = createLogger({ level: 'warn', service: 'test', format }, { write: (line) => (text += line) })
  const registry = new Registry()
  const { audit, register, close } = await openAuditLog({
    log: { auditFile: file, format },
    service: 'test',
    logger,
  })
  register(registry)
  t.teardown(close)
  return {
    audit: (action: string) => audit(action, { subject: 'ä' }),
    close,
    log: () => parse(text),
    file: (name = file) => parse(readFileSync(name, 'utf8')),
    failed: async () => {
      const [metric] = await registry.getMetricsAsJSON()
      return metric?.values.map(({ value }) => value)
    },
  }
}

t.test('audit lines are appended to the file, which other users cannot read', async (t) => {
  const file = join(t.testdir(), 'audit.log')
  const first = await start(t, file)
  const second = await start(t, file)
  for (let line = 0; line < 100; line++) {
    first.audit(`first_${line}`)
    second.audit(`second_${line}`)
  }
  await first.close()
  await second.close()
  const lines = first.file()
  t.equal(lines.length, 200)
  t.strictSame(
    actionsOf(lines).filter((action) => String(action).startsWith('first')),
    Array.from({ length: 100 }, (_, line) => `first_${line}`),
  )
  const { time: _time, ...fields } = lines.find(({ action }) => action === 'first_0') ?? {}
  t.strictSame(fields, {
    level: 'info',
    service: 'test',
    event: 'audit',
    action: 'first_0',
    subject: 'ä',
    msg: 'first 0',
  })
  t.equal(statSync(file).mode & 0o777, 0o640 & ~process.umask())
  t.strictSame(first.log(), [])
  t.strictSame(await first.failed(), [0])
})

t.test('after another program renames the file, lines go to a new file', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'audit.log')
  const { audit, close, file: read } = await start(t, file)
  audit('before')
  await until('the line is in the file', async () => read().length === 1)
  renameSync(file, join(folder, 'audit.log.1'))
  audit('after')
  await close()
  t.strictSame(actionsOf(read(join(folder, 'audit.log.1'))), ['before'])
  t.strictSame(actionsOf(read()), ['after'])
})

t.test('lines that cannot be written to the file are in the log, with an error and a count', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'audit.log')
  const { audit, file: read, log, failed } = await start(t, file)
  audit('one')
  await until('the line is in the file', async () => read().length === 1)
  renameSync(file, join(folder, 'audit.log.1'))
  mkdirSync(file)
  audit('two')
  await until('the line is in the log', async () => log().length > 1)
  audit('three')
  t.match(log(), [
    { level: 'error', event: 'audit_file_failed', file, err: { code: 'EISDIR' } },
    { level: 'info', event: 'audit', action: 'two', subject: 'ä' },
    { level: 'info', event: 'audit', action: 'three' },
  ])
  t.strictSame(await failed(), [2])

  rmdirSync(file)
  await until('the service writes to the file again', async () => {
    audit('again')
    return statSync(file, { throwIfNoEntry: false }) !== undefined && read().length > 0
  })
  const lines = read()
  t.match(lines[0], { level: 'warn', event: 'audit_lines_missing', lines: (await failed())?.[0] })
  t.match(lines[1], { event: 'audit', action: 'again' })
  t.equal(
    log().filter(({ event }) => event === 'audit_file_failed').length,
    1,
    'one error, and then one line a minute',
  )
})

t.test('the lines of a full disk are in the log', async (t) => {
  const { audit, log, failed, close } = await start(t, '/dev/full')
  audit('one')
  audit('two')
  await close()
  t.match(log()[0], { event: 'audit_file_failed', err: { code: 'ENOSPC' } })
  t.strictSame(actionsOf(log().filter(({ event }) => event === 'audit')), ['one', 'two'])
  t.strictSame(await failed(), [2])
})

t.test('the service does not start if it cannot open the file', async (t) => {
  const folder = t.testdir({ file: '' })
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const permission = 'Create its folder and permit this user to write to it'
  for (const [file, code, remedy] of [
    [folder, 'EISDIR', 'The path is a folder. Add the name of a file to the path'],
    [
      join(folder, 'pipe'),
      'ENXIO',
      'The path is a named pipe without a reader. Start the program that reads the pipe before this service',
    ],
    [join(folder, 'missing', 'audit.log'), 'ENOENT', permission],
    [join(folder, 'file', 'audit.log'), 'ENOTDIR', permission],
  ] as const)
    await t.rejects(start(t, file), {
      name: 'BootError',
      code: 'ERR_AUDIT_FILE_UNUSABLE',
      message: `${file}: cannot open the file for audit lines (${code}). ${remedy}, or change log.auditFile.`,
    })
})

t.test('the lines go to a named pipe, and without its reader to the log with the cause', async (t) => {
  const fifo = aFifo(t)
  const { audit, log, failed } = await start(t, fifo.path)
  fifo.handOver()
  const text = fifo.read()
  audit('read')
  await until('the line is in the pipe', async () => actionsOf(parse(text())).includes('read'))
  t.strictSame(log(), [])
  fifo.leave()
  await until('the line is in the log', async () => {
    audit('unread')
    return log().length > 1
  })
  t.match(log()[0], {
    event: 'audit_file_failed',
    file: fifo.path,
    err: { code: 'EPIPE' },
  })
  t.match(log()[1], { event: 'audit', action: 'unread' })
  t.ok(Number((await failed())?.[0]) > 0)
})

t.test('the content of an existing file stays', async (t) => {
  const file = join(t.testdir(), 'audit.log')
  appendFileSync(file, '{"action":"old"}\n')
  const { audit, close, file: read } = await start(t, file)
  audit('new')
  await close()
  t.strictSame(actionsOf(read()), ['old', 'new'])
})

t.test('the file and the log have the format ecs, also for failed lines', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'audit.log')
  const { audit, file: read, log } = await start(t, file, 'ecs')
  audit('one')
  await until('the line is in the file', async () => read().length === 1)
  t.match(read(), [{ 'event.dataset': 'scopegate.audit', 'event.action': 'one', 'user.id': 'ä' }])
  renameSync(file, join(folder, 'audit.log.1'))
  mkdirSync(file)
  audit('two')
  await until('the line is in the log', async () => log().length > 1)
  t.match(log(), [
    { 'log.level': 'error', 'event.action': 'audit_file_failed', 'error.code': 'EISDIR' },
    { 'event.dataset': 'scopegate.audit', 'event.action': 'two', 'user.id': 'ä' },
  ])
  rmdirSync(file)
  await until('the service writes to the file again', async () => {
    audit('again')
    return statSync(file, { throwIfNoEntry: false }) !== undefined && read().length > 0
  })
  t.match(read()[0], { 'event.action': 'audit_lines_missing', 'scopegate.lines': Number })
})
