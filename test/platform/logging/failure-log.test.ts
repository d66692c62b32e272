import { mock } from 'node:test'
import t from 'tap'
import { createFailureLog } from '../../../platform/logging/failure-log.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { aClock } from '../../fixtures/a-clock.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

const FAILED = { event: 'upstream_failed', message: 'an upstream did not send a complete response' }

function aFailure(code: string): Error {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
  return Object.assign(new Error('no connection', { cause }), { code })
}

/** The test controls the clock. Returns the new log lines. */
function aFailureLog() {
  const lines: Readonly<Record<string, unknown>>[] = []
  const logger = createLogger(
    { level: 'info', service: 'test' },
    { write: (line) => lines.push(JSON.parse(line)) },
  )
  const clock = aClock()
  return { failures: createFailureLog(logger, clock.after), clock, takeLines: () => lines.splice(0) }
}

t.test('failed() logs the first failure immediately, with its code and without a stack', async (t) => {
  const { failures, takeLines } = aFailureLog()
  failures.failed({ ...FAILED, fields: { upstream: 'api' } }, aFailure('ERR_ONE'), 'request-1')
  const [line, ...others] = takeLines()
  t.strictSame(others, [])
  t.match(line, {
    level: 'warn',
    event: 'upstream_failed',
    upstream: 'api',
    request_id: 'request-1',
    msg: 'an upstream did not send a complete response',
  })
  t.strictSame(line?.['err'], {
    type: 'Error',
    message: 'no connection: connect ECONNREFUSED 127.0.0.1:1',
    code: 'ERR_ONE',
    causeCode: 'ECONNREFUSED',
  })
})

t.test('failed() counts further failures of one kind and logs the count every minute', async (t) => {
  const { failures, clock, takeLines } = aFailureLog()
  const fail = () =>
    failures.failed({ ...FAILED, fields: { upstream: 'api' } }, aFailure('ERR_ONE'), 'some-id')
  fail()
  takeLines()
  for (let count = 0; count < 1_000; count += 1) fail()
  t.strictSame(takeLines(), [])
  await clock.advance(59_999)
  t.strictSame(takeLines(), [])
  await clock.advance(1)
  const [line, ...others] = takeLines()
  t.strictSame(others, [])
  t.match(line, {
    event: 'upstream_failed',
    upstream: 'api',
    count: 1_000,
    seconds: 60,
    err: { code: 'ERR_ONE' },
  })
  t.notOk('request_id' in (line ?? {}), 'the count belongs to no single request')
  fail()
  await clock.advance(60_000)
  t.match(takeLines(), [{ count: 1 }], 'each interval has its own count')
})

t.test('failed() logs the complete failure again after an interval without a failure', async (t) => {
  const { failures, clock, takeLines } = aFailureLog()
  failures.failed(FAILED, aFailure('ERR_ONE'))
  await clock.advance(60_000)
  takeLines()
  failures.failed(FAILED, aFailure('ERR_ONE'), 'request-2')
  t.match(takeLines(), [{ request_id: 'request-2' }])
})

t.test('failed() counts failures separately by event, fields and error code', async (t) => {
  const { failures, takeLines } = aFailureLog()
  for (let round = 0; round < 2; round += 1) {
    failures.failed({ ...FAILED, fields: { upstream: 'api' } }, aFailure('ERR_ONE'))
    failures.failed({ ...FAILED, fields: { upstream: 'other' } }, aFailure('ERR_ONE'))
    failures.failed({ ...FAILED, fields: { upstream: 'api' } }, aFailure('ERR_TWO'))
    failures.failed({ ...FAILED, event: 'other', fields: { upstream: 'api' } }, aFailure('ERR_ONE'))
  }
  t.equal(takeLines().length, 4)
})

t.test('failed() logs the stack of a defect in the first line only', async (t) => {
  const { failures, clock, takeLines } = aFailureLog()
  for (let count = 0; count < 3; count += 1) failures.failed(FAILED, new TypeError('x is not a function'))
  t.match(takeLines(), [{ err: { type: 'TypeError', stack: /failure-log\.test/ } }])
  await clock.advance(60_000)
  const [line] = takeLines()
  t.match(line, { count: 2, err: { type: 'TypeError' } })
  t.notMatch(JSON.stringify(line), /stack/)
})

t.test('failed() logs a value that is not an Error', async (t) => {
  const { failures, takeLines } = aFailureLog()
  failures.failed({ ...FAILED, level: 'error' }, 'some text')
  t.match(takeLines(), [{ level: 'error', err: { message: 'some text' } }])
})

t.test('close() logs the counts of the current interval once', async (t) => {
  const { failures, clock, takeLines } = aFailureLog()
  for (let count = 0; count < 5; count += 1) failures.failed(FAILED, aFailure('ERR_ONE'))
  failures.failed(FAILED, aFailure('ERR_TWO'))
  takeLines()
  failures.close()
  t.match(takeLines(), [{ count: 4, err: { code: 'ERR_ONE' } }])
  await clock.advance(120_000)
  t.strictSame(takeLines(), [])
})

t.test('createFailureLog() logs the count every minute with its own timers', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const lines: Readonly<Record<string, unknown>>[] = []
  const write = (line: string) => lines.push(JSON.parse(line))
  const failures = createFailureLog(createLogger({ level: 'info', service: 'test' }, { write }))
  for (let count = 0; count < 3; count += 1) failures.failed(FAILED, aFailure('ERR_ONE'))
  t.equal(lines.splice(0).length, 1)
  mock.timers.tick(60_000)
  t.match(lines.splice(0), [{ count: 2, seconds: 60 }])
  failures.failed(FAILED, aFailure('ERR_ONE'))
  failures.close()
  t.match(lines.splice(0), [{ count: 1 }])
  mock.timers.tick(600_000)
  t.strictSame(lines, [], 'close() clears the timers')
})

t.test('failed() logs the stack of each kind of defect, and no stack for an error with a code', async (t) => {
  for (const Defect of [TypeError, RangeError, ReferenceError, SyntaxError]) {
    const { failures, takeLines } = aFailureLog()
    failures.failed(FAILED, new Defect('made up'))
    t.match(takeLines(), [{ err: { type: Defect.name, stack: /failure-log\.test/ } }])
  }
  const { failures, takeLines } = aFailureLog()
  failures.failed(FAILED, Object.assign(new TypeError('fetch failed'), { code: 'ERR_ONE' }))
  failures.failed(FAILED, new Error('expected'))
  t.notMatch(JSON.stringify(takeLines()), /stack/)
})

t.test('failed() repeats all fields in the count', async (t) => {
  const { failures, clock, takeLines } = aFailureLog()
  for (let count = 0; count < 3; count += 1)
    failures.failed(
      { ...FAILED, level: 'error', fields: { upstream: 'api' } },
      aFailure('ERR_ONE'),
      'request-1',
    )
  takeLines()
  await clock.advance(60_000)
  const [line] = takeLines()
  t.strictSame(
    { ...line, time: '' },
    {
      level: 'error',
      time: '',
      service: 'test',
      event: 'upstream_failed',
      upstream: 'api',
      count: 2,
      seconds: 60,
      err: {
        type: 'Error',
        message: 'no connection: connect ECONNREFUSED 127.0.0.1:1',
        code: 'ERR_ONE',
        causeCode: 'ECONNREFUSED',
      },
      msg: 'an upstream did not send a complete response',
    },
  )
})

t.test('close() cancels the interval of each kind', async (t) => {
  const cancelled: number[] = []
  let started = 0
  const logger = SILENT_LOGGER
  const failures = createFailureLog(logger, () => {
    const interval = ++started
    return () => cancelled.push(interval)
  })
  failures.failed(FAILED, aFailure('ERR_ONE'))
  failures.failed(FAILED, aFailure('ERR_TWO'))
  failures.close()
  t.strictSame(cancelled, [1, 2])
  failures.close()
  t.strictSame(cancelled, [1, 2])
})
