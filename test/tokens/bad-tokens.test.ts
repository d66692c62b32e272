import t from 'tap'
import { describeTokenFault } from '../../gateway/pipeline/describe-fault.ts'
import type { TokenFault } from '../../policy-engine/decide/rejection.ts'
import { BASE_URL } from '../fixtures/a-gateway.ts'
import { parseObject } from '../fixtures/send.ts'
import { CLAIM_ROWS } from './claim-rows.ts'
import { FORM_ROWS } from './form-rows.ts'
import { KEY_ROWS } from './key-rows.ts'
import type { Row } from './row.ts'
import { SIGNATURE_ROWS } from './signature-rows.ts'
import { good, startWorld, type World } from './world.ts'

const ROWS: readonly Row[] = [...SIGNATURE_ROWS, ...KEY_ROWS, ...CLAIM_ROWS, ...FORM_ROWS]

type Answer = {
  readonly status: number
  readonly challenge: string
  readonly body: Readonly<Record<string, unknown>>
}

/** Sends the token of a row on a new connection. The route also permits anonymous access. */
async function answerTo({ under }: World, row: Row, token: string): Promise<Answer> {
  const { target = '/api/courses', headers } = row.send?.(token) ?? {
    headers: [`Authorization: Bearer ${token}`],
  }
  const lines = [`GET ${target} HTTP/1.1`, 'Host: api.test', 'Connection: close', ...headers]
  const text = await under.raw(`${lines.join('\r\n')}\r\n\r\n`)
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return {
    status: Number(head.split(' ')[1]),
    challenge: /^www-authenticate: (.*)$/im.exec(head)?.[1] ?? '',
    body: parseObject(body),
  }
}

/** Returns the description for the client, without the age of an expired token. */
function descriptionOf(reason: Exclude<Row['answer'], number | 'any_401'>): string {
  // With several issuers, the description does not name a token endpoint.
  return describeTokenFault(faultOf(reason), undefined).replace(/expired .* ago/, 'expired')
}

function faultOf(reason: TokenFault['reason']): TokenFault {
  if (reason === 'expired') return { reason, secondsAgo: 0 }
  if (reason === 'wrong_audience') return { reason, expected: BASE_URL, actual: [] }
  return { reason }
}

t.test('rejects every token of the table of bad tokens and forwards nothing', async (t) => {
  const world = await startWorld(t)
  t.ok(ROWS.length >= 150, `${ROWS.length} rows`)
  t.equal(
    new Set(ROWS.map((row) => `${row.class} ${row.what}`)).size,
    ROWS.length,
    'each row has a unique name',
  )

  for (const row of ROWS)
    await t.test(`class ${row.class}: ${row.what}`, async (t) => {
      const { status, challenge, body } = await answerTo(world, row, row.token(world))
      if (typeof row.answer === 'number') {
        t.equal(status, row.answer)
        if (status === 403) t.match(challenge, /^Bearer error="insufficient_scope"/)
        return
      }
      t.equal(status, 401)
      t.equal(body['error'], 'invalid_token')
      t.match(
        challenge,
        /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="http:\/\/api\.test\//,
      )
      if (row.answer !== 'any_401')
        t.equal(
          String(body['error_description']).replace(/expired .* ago/, 'expired'),
          descriptionOf(row.answer),
        )
    })

  t.equal(world.under.upstream.bytes, '', 'nothing was forwarded')
  t.equal(world.trapped(), 0, 'the gateway contacted no address from a token')
  t.same(
    world.under.log().filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  )
  t.ok(world.main.keyFetches <= 3, `the keys were fetched ${world.main.keyFetches} times`)
})

t.test('class 54: a challenge does not contain the value of the Host header', async (t) => {
  const { under, main } = await startWorld(t)
  const token = main.sign(good({ exp: 0 }))
  const text = await under.raw(
    `GET /api/courses HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  )
  t.match(text, /^HTTP\/1\.1 401 /)
  t.notMatch(text, /evil/)
})

t.test('class 55: rejects a bad token on a route that serves anonymous requests', async (t) => {
  const { under } = await startWorld(t)
  const open = await under.raw('GET /api/courses HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
  t.match(open, /^HTTP\/1\.1 200 /)
  for (const name of ['x-auth-subject', 'x-auth-client-id', 'x-auth-scope', 'x-auth-issuer'])
    t.same(under.upstream.seen(name), [])
  const bad = await under.raw(
    'GET /api/courses HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nAuthorization: Bearer eyJ.eyJ.x\r\n\r\n',
  )
  t.match(bad, /^HTTP\/1\.1 401 /)
  t.equal(under.upstream.requests.length, 1)
})
