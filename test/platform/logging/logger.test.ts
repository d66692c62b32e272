import t from 'tap'
import { LogSink, type WriteBytes } from '../../../platform/logging/log-sink.ts'
import {
  createLogger,
  describeFailure,
  droppedLines,
  whenWritten,
  writeLines,
} from '../../../platform/logging/logger.ts'

/** The names of all fields that contain a secret of a request. */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'code',
  'code_verifier',
  'access_token',
  'refresh_token',
  'client_secret',
  'clientSecret',
  'password',
]
/**
 * Authorization codes and tokens in the formats of issuers. The last two texts and error codes begin with the same
 * characters.
 */
const SECRETS = [
  'splxlOBeZQQYbYS6WxSbIA',
  'Zx3kC0Fm-4fN2rQ8sVtY_7uIoPaLdKjHgFzXcVbNmQ1',
  'eyJhbGciOiJFUzI1NiJ9.e30.c2ln',
  'ERR-4fN2rQ8sVtY',
  'EsplxlOBeZQQYb',
]

function logged(fields: object): { readonly text: string; readonly line: Readonly<Record<string, unknown>> } {
  let text = ''
  const logger = createLogger({ level: 'info', service: 'test' }, { write: (line) => (text += line) })
  logger.info(fields, 'a message')
  return { text, line: JSON.parse(text) }
}

t.test('createLogger() redacts the value of every secret field at each position in a request', async (t) => {
  for (const name of SECRET_NAMES)
    for (const secret of SECRETS) {
      const fields = { [name]: secret }
      for (const place of [fields, { headers: fields }, { req: { headers: fields } }]) {
        const { text } = logged(place)
        t.notOk(text.includes(secret), `${name} in ${JSON.stringify(place)}`)
        t.ok(text.includes(`"${name}":"[cut]"`), `${name} is redacted`)
      }
    }
})

t.test('createLogger() redacts a secret that is not a string', async (t) => {
  t.equal(logged({ code: 123_456 }).line['code'], '[cut]')
  t.equal(logged({ password: ['a-password'] }).line['password'], '[cut]')
})

t.test('createLogger() logs the codes of errors', async (t) => {
  for (const code of [
    'ERR_REDIS_UNREACHABLE',
    'UND_ERR_CONNECT_TIMEOUT',
    'ECONNREFUSED',
    'EAI_AGAIN',
    'E2BIG',
  ])
    t.equal(logged({ code }).line['code'], code)
  const cause = Object.assign(new Error('expired'), { code: 'CERT_HAS_EXPIRED' })
  t.match(logged({ err: cause }).line['err'], { code: 'CERT_HAS_EXPIRED', stack: /logger\.test/ })
})

t.test('createLogger() logs only the known members of an error', async (t) => {
  const error = Object.assign(new Error('malformed'), { code: 'ERR_X', data: 'bytes of a peer', headers: {} })
  t.strictSame(Object.keys(logged({ err: error }).line['err'] as object), [
    'type',
    'message',
    'stack',
    'code',
  ])
})

t.test('createLogger() writes one JSON line with level, time, service, fields and message', async (t) => {
  const { text } = logged({ event: 'x', lines: 2 })
  t.match(
    text,
    /^\{"level":"info","time":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ","service":"test","event":"x","lines":2,"msg":"a message"\}\n$/,
  )
  const lines: string[] = []
  const logger = createLogger(
    { level: 'warn', service: 'other' },
    { write: (line) => lines.push(JSON.parse(line).level) },
  )
  logger.info('not logged')
  logger.warn('logged')
  logger.error('logged')
  t.strictSame(lines, ['warn', 'error'])
})

t.test(
  'createLogger() keeps an error code up to 60 characters after its first letter, and no other text',
  async (t) => {
    for (const [code, kept] of [
      ['EIO', true],
      ['EX', false],
      ['E', false],
      [`E${'X'.repeat(60)}`, true],
      [`E${'X'.repeat(61)}`, false],
      [`UND_ERR_${'X'.repeat(60)}`, true],
      [`UND_ERR_${'X'.repeat(61)}`, false],
      ['UND_ERR_AZ09_', true],
      ['XEIO', false],
      ['EIOx', false],
      ['xEIO', false],
      ['EIO ', false],
    ] as const)
      t.equal(logged({ code }).line['code'], kept ? code : '[cut]', code)
    t.equal(logged({ code: ['EIO'] }).line['code'], '[cut]')
    t.equal(logged({ password: 'EIO' }).line['password'], '[cut]')
    t.equal(logged({ headers: { code: 'EIO' } }).text.includes('"code":"EIO"'), true)
  },
)

t.test('createLogger() logs the system fields of an error', async (t) => {
  const error = Object.assign(new Error('connect'), {
    code: 'ECONNREFUSED',
    errno: -111,
    syscall: 'connect',
    address: '127.0.0.1',
    port: 1,
    path: '/secret',
  })
  t.match(
    JSON.stringify(logged({ err: error }).line['err']),
    /^\{"type":"Error","message":"connect","stack":".*","code":"ECONNREFUSED","errno":-111,"syscall":"connect","address":"127.0.0.1","port":1\}$/,
  )
})

t.test('describeFailure() omits the stack, and adds the code of the cause', async (t) => {
  const cause = Object.assign(new Error('inner'), { code: 'EIO' })
  const failure = Object.assign(new RangeError('outer', { cause }), { code: 'ERR_OUTER' })
  const described = describeFailure(failure)
  t.strictSame(described, {
    type: 'RangeError',
    message: 'outer: inner',
    code: 'ERR_OUTER',
    causeCode: 'EIO',
  })
  t.strictSame(logged({ err: described }).line['err'], { ...described })
  t.strictSame(describeFailure(new Error('plain')), { type: 'Error', message: 'plain' })
  t.strictSame(describeFailure('text'), { type: 'Error', message: 'text' })
  t.strictSame(describeFailure(undefined), { type: 'Error', message: 'undefined' })
  for (const cause of [{ code: 'EIO' }, Object.assign(new Error('x'), { code: 7 }), 'EIO'])
    t.notOk('causeCode' in describeFailure(new Error('outer', { cause })), String(cause))
  t.notOk('causeCode' in describeFailure({ cause }))
})

t.test('writeLines(), droppedLines() and whenWritten() use the destination of the logger', async (t) => {
  let text = ''
  const plain = createLogger({ level: 'info', service: 'test' }, { write: (line) => (text += line) })
  writeLines(plain)('one\ntwo\n')
  t.equal(text, 'one\ntwo\n')
  t.equal(droppedLines(plain), 0)
  await whenWritten(plain, 600_000)

  const writes: Parameters<WriteBytes>[] = []
  const sink = new LogSink({
    write: (...args) => writes.push(args),
    heldCharacters: 10,
    notice: () => 'notice\n',
    tickMs: () => 0,
  })
  const logger = createLogger({ level: 'info', service: 'test' }, sink)
  writeLines(logger)('one\n')
  writeLines(logger)('two\nthree\nfour\n')
  t.equal(droppedLines(logger), 3)
  let isWritten = false
  const written = whenWritten(logger, 600_000).then(() => (isWritten = true))
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(isWritten, false)
  for (let write = writes.shift(); write !== undefined; write = writes.shift())
    write[1](null, write[0].length)
  await written

  const blocked = new LogSink({
    write: () => undefined,
    heldCharacters: 10,
    notice: () => '',
    tickMs: () => 0,
  })
  const stuck = createLogger({ level: 'info', service: 'test' }, blocked)
  writeLines(stuck)('one\n')
  await whenWritten(stuck, 1)
  t.throws(() => writeLines({} as never), { message: 'this logger has no stream' })
})
