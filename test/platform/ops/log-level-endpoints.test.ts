import t, { type Test } from 'tap'
import { createAuditLog } from '../../../platform/logging/audit-log.ts'
import { createLogLevelControl } from '../../../platform/logging/log-level.ts'
import { LOG_LEVELS } from '../../../platform/logging/log-schema.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { logLevelEndpoints } from '../../../platform/ops/log-level-endpoints.ts'
import { startOpsServer } from '../../../platform/ops/ops-server.ts'
import { send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

/** Starts a management port with the configured level `info`. */
async function start(t: Test) {
  const lines: Record<string, unknown>[] = []
  const toWorkers: unknown[] = []
  const logger = createLogger(
    { level: 'info', service: 'test' },
    {
      write(line) {
        const { time: _time, service: _service, ...fields } = JSON.parse(line)
        lines.push(fields)
      },
    },
  )
  const control = createLogLevelControl({
    configured: 'info',
    logger,
    audit: createAuditLog(logger),
    toWorkers: async (level) => toWorkers.push(level),
  })
  const server = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    service: 'test',
    version: '0',
    metrics: async () => [],
    checks: () => [],
    endpoints: logLevelEndpoints(control),
    logger,
  })
  t.teardown(() => {
    control.close()
    return server.close()
  })
  const url = `${server.url}/log-level`
  const put = async (body: unknown) => {
    const response = await send(url, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return [response.status, response.json] as const
  }
  return { put, get: async () => (await send(url)).json, lines, toWorkers, logger, control }
}

const INFO = { level: 'info', configuredLevel: 'info' }
const CHANGED = {
  level: 'info',
  event: 'audit',
  action: 'log_level_changed',
  asked_by: 'endpoint',
  'client.address': '127.0.0.1',
  msg: 'log level changed',
}

t.test('PUT /log-level changes the level, and GET /log-level shows the level', async (t) => {
  const { put, get, lines, toWorkers, logger } = await start(t)
  t.strictSame(await get(), INFO)
  for (const level of LOG_LEVELS) {
    t.strictSame(await put({ level }), [200, { level, configuredLevel: 'info' }])
    t.equal(logger.level, level)
    t.strictSame(await get(), { level, configuredLevel: 'info' })
  }
  t.strictSame(
    toWorkers,
    LOG_LEVELS.map((level) => (level === 'info' ? undefined : level)),
    'undefined is the configured level',
  )
  t.strictSame(
    lines,
    LOG_LEVELS.map((level, index) => ({
      ...CHANGED,
      log_level: level,
      previous_log_level: index === 0 ? 'info' : LOG_LEVELS[index - 1],
    })),
    'each change has an audit line at each level',
  )
})

t.test('the configured level returns after the duration', async (t) => {
  const { put, get, lines, toWorkers, logger } = await start(t)
  t.strictSame(await put({ level: 'debug', durationSeconds: 1 }), [
    200,
    { level: 'debug', configuredLevel: 'info', remainingSeconds: 1 },
  ])
  await until('the level returns', async () => (await get())['level'] === 'info')
  t.strictSame(await get(), INFO)
  t.equal(logger.level, 'info')
  t.strictSame(toWorkers, ['debug', undefined])
  t.strictSame(lines, [
    { ...CHANGED, duration_seconds: 1, log_level: 'debug', previous_log_level: 'info' },
    {
      level: 'info',
      event: 'audit',
      action: 'log_level_changed',
      asked_by: 'timer',
      log_level: 'info',
      previous_log_level: 'debug',
      msg: 'log level changed',
    },
  ])
})

t.test('a further change replaces the duration of the earlier change', async (t) => {
  const { put, get, lines } = await start(t)
  await put({ level: 'debug', durationSeconds: 1 })
  t.strictSame(await put({ level: 'trace', durationSeconds: 86_400 }), [
    200,
    { level: 'trace', configuredLevel: 'info', remainingSeconds: 86_400 },
  ])
  await put({ level: 'debug', durationSeconds: 1 })
  t.strictSame(await put({ level: 'warn' }), [200, { level: 'warn', configuredLevel: 'info' }])
  // A shorter timer than the earlier timers shows that the earlier timers do not run.
  await put({ level: 'error', durationSeconds: 1 })
  await until('the level returns', async () => (await get())['level'] === 'info')
  t.equal(lines.filter(({ asked_by: cause }) => cause === 'timer').length, 1)
  t.strictSame(await put({ level: 'info', durationSeconds: 60 }), [200, INFO], 'the configured level stays')
})

t.test('PUT /log-level rejects an invalid body and changes nothing', async (t) => {
  const { put, get, lines } = await start(t)
  const object = 'The body must be a JSON object, such as {"level":"debug","durationSeconds":600}.'
  const level = '"level" must be one of: trace, debug, info, warn, error, fatal, silent.'
  const duration = '"durationSeconds" must be a whole number from 1 to 86400.'
  for (const [body, text] of [
    [null, object],
    [[], object],
    ['debug', object],
    [7, object],
    [{}, level],
    [{ level: 'DEBUG' }, level],
    [{ level: 30 }, level],
    [{ level: 'constructor' }, level],
    [{ level: 'debug', duration: 1 }, 'The body may contain only "level" and "durationSeconds".'],
    ...[0, -1, 1.5, 86_401, '60', null, [60]].map(
      (durationSeconds) => [{ level: 'debug', durationSeconds }, duration] as const,
    ),
  ] as const)
    t.strictSame(
      await put(body),
      [400, { error: 'invalid_request', error_description: text }],
      JSON.stringify(body),
    )
  t.strictSame(await get(), INFO)
  t.strictSame(lines, [])
})
