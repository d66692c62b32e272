import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Answer } from '../../fixtures/send.ts'
import { startPlatform } from './start-platform.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** All tests share this platform. */
const platform = await startPlatform(t)

/** Checks the format of an error response. The response must not contain internal details. */
function isRejection(t: Test, answer: Answer, status: number, code: string): void {
  t.equal(answer.status, status)
  t.equal(answer.json['error'], code)
  t.type(answer.json['error_description'], 'string')
  t.match(answer.headers.get('content-type'), /^application\/json/)
  t.equal(answer.headers.get('www-authenticate'), null)
  t.notMatch(answer.text, /\.ts:|\bat \w+ \(|node_modules|sqlite/i)
}

t.test('rejects malformed bodies with 400 and without a stack trace', async (t) => {
  const bodies = [
    '{',
    '',
    'null',
    '[]',
    '"text"',
    '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":{}}}',
    '[['.repeat(100_000),
    '{"a":'.repeat(100_000),
    '\u0000',
    '{"title":"a","title":}',
  ]
  for (const body of bodies)
    for (const [method, path] of [
      ['POST', '/api/courses'],
      ['PUT', '/api/courses/crs_0001'],
      ['PATCH', '/api/courses/crs_0001'],
      ['PUT', '/api/school'],
      ['PATCH', '/api/account'],
    ] as const)
      isRejection(
        t,
        await platform.askAs('writer', path, { method, body, headers: JSON_TYPE }),
        400,
        'invalid_request',
      )
})

t.test('rejects a body of another media type with 415', async (t) => {
  for (const type of [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'nonsense',
  ])
    isRejection(
      t,
      await platform.askAs('writer', '/api/courses', { body: '{}', headers: { 'content-type': type } }),
      415,
      'unsupported_media_type',
    )
  const patch = { body: '{}', headers: { 'content-type': 'application/merge-patch+json' } }
  isRejection(t, await platform.askAs('writer', '/api/courses', patch), 415, 'unsupported_media_type')
})

t.test('rejects a body above 1 MiB with 413', async (t) => {
  const body = JSON.stringify({ title: 'x'.repeat(1024 * 1024) })
  isRejection(
    t,
    await platform.askAs('writer', '/api/courses', { body, headers: JSON_TYPE }),
    413,
    'payload_too_large',
  )
})

t.test('unknown paths get 404 with any body', async (t) => {
  const paths = [
    '/',
    '/api',
    '/api/',
    '/api/unknown',
    '/api/courses/crs_0001/more',
    '/api/courses/',
    '/API/courses',
    '/api/membership_plans',
    '/api/analytics/1',
    '/api/school/1',
    '/healthz/',
    `/api/courses/${'x'.repeat(2000)}`,
  ]
  for (const path of paths) isRejection(t, await platform.askAs('reader', path), 404, 'not_found')
  const message = { body: '<xml/>', headers: { 'content-type': 'text/xml' } }
  isRejection(t, await platform.askAs('writer', '/api/unknown', message), 404, 'not_found')
})

t.test('unknown IDs get 404', async (t) => {
  const ids = [
    '42',
    'crs_9999',
    'crs_00001',
    'CRS_0001',
    'stu_0001',
    '%00',
    '%2e%2e%2f',
    "'%20OR%201=1--",
    '__proto__',
    '😀',
    '1e9',
    '-1',
  ]
  for (const id of ids)
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const message = method === 'PATCH' ? { method, json: { title: 'New' } } : { method }
      isRejection(t, await platform.askAs('writer', `/api/courses/${id}`, message), 404, 'not_found')
    }
})

t.test('an incorrectly encoded path gets 400', async (t) => {
  isRejection(t, await platform.askAs('reader', '/api/courses/%zz'), 400, 'invalid_request')
})

t.test('an unsupported method gets 405 with the allowed methods', async (t) => {
  const rows = [
    ['DELETE', '/api/courses', 'GET, HEAD, POST'],
    ['PROPFIND', '/api/courses', 'GET, HEAD, POST'],
    ['POST', '/api/courses/crs_0001', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['OPTIONS', '/api/courses/crs_0001', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['POST', '/api/orders', 'GET, HEAD'],
    ['DELETE', '/api/orders/ord_0001', 'GET, HEAD'],
    ['POST', '/api/comments', 'GET, HEAD'],
    ['PUT', '/api/forms/frm_0001', 'GET, HEAD'],
    ['DELETE', '/api/school', 'GET, HEAD, PATCH, PUT'],
    ['POST', '/api/analytics', 'GET, HEAD'],
    ['POST', '/openapi.json', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
  ] as const
  for (const [method, path, allow] of rows) {
    const answer = await platform.askAs('writer', path, { method, headers: { 'content-type': 'text/xml' } })
    isRejection(t, answer, 405, 'method_not_allowed')
    t.equal(answer.headers.get('allow'), allow)
  }
})

t.test('invalid list queries get 400 with the name of the parameter', async (t) => {
  const rows = [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['limit=99999999999999999999', 'limit'],
    ['cursor=', 'cursor'],
    ['cursor=abc', 'cursor'],
    ['cursor=Y291cnNlczox&cursor=x', 'cursor'],
    [`cursor=${Buffer.from('students:1').toString('base64url')}`, 'cursor'],
    [`cursor=${Buffer.from('courses:1').toString('base64url')}%3D`, 'cursor'],
    [`cursor=${'A'.repeat(500)}`, 'cursor'],
    ['state=unknown', 'state'],
    ['state=draft&state=draft', 'state'],
    ['title=x', 'title'],
    ['__proto__=1', '__proto__'],
  ] as const
  for (const [query, parameter] of rows) {
    const answer = await platform.askAs('reader', `/api/courses?${query}`)
    isRejection(t, answer, 400, 'invalid_request')
    t.match(answer.json['error_description'], new RegExp(`^${parameter}: `), query)
  }
})

t.test('invalid HTTP gets 400, oversized headers get 431, and the service still responds', async (t) => {
  t.match(await sendRaw(platform.url, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*"error":"invalid_request"/)
  const large = `GET /healthz HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(40_000)}\r\n\r\n`
  t.match(await sendRaw(platform.url, large), /^HTTP\/1\.1 431 /)
  t.equal((await platform.ask('/healthz')).status, 200)
})

t.test('no JSON body causes an internal error', async () => {
  const field = fc.constantFrom(
    'title',
    'slug',
    'state',
    'price_cents',
    'lecturer_ids',
    'tags',
    'lessons',
    'discount',
    'enrolments',
    'starts_at',
    'email',
    'x',
  )
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue()))
  const target = fc.constantFrom(
    ['POST', '/api/courses'],
    ['PATCH', '/api/courses/crs_0001'],
    ['PATCH', '/api/curriculum/sec_0001'],
    ['PATCH', '/api/coupons/cpn_0001'],
    ['PATCH', '/api/students/stu_0001'],
    ['PATCH', '/api/events/evt_0001'],
    ['PATCH', '/api/account'],
    ['PUT', '/api/appearance'],
  )
  await fc.assert(
    fc.asyncProperty(target, body, async ([method = '', path = ''], json) => {
      const { status } = await platform.askAs('writer', path, { method, json })
      return status < 500
    }),
    { numRuns: 400 },
  )
})

async function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('error', () => undefined) // the server closes the connection before it has read all bytes
  socket.write(text)
  await once(socket, 'close')
  return answer
}
