import { generateKeyPairSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import {
  createIntrospector,
  type IntrospectionOptions,
} from '../../../../gateway/tokens/introspection/introspect.ts'
import type { IntrospectionOutcome } from '../../../../gateway/tokens/introspection/introspection-client.ts'
import { PROBE_TOKEN } from '../../../../gateway/tokens/introspection/request-probe.ts'
import { startIssuer } from '../../../fixtures/an-issuer.ts'
import { introspectionOptions } from '../../../fixtures/introspection-options.ts'
import { signJws } from '../../../fixtures/jws.ts'
import { until } from '../../../fixtures/until.ts'

const ISSUER = 'https://issuer.test'

/** Creates an introspection client for an issuer with a real HTTP server. */
async function setUp(t: Test, change: Partial<IntrospectionOptions> = {}) {
  const issuer = await startIssuer({ issuer: ISSUER, audience: 'https://api.test' })
  const clock = { ms: 0 }
  const results: IntrospectionOutcome[] = []
  const logged: unknown[] = []
  const introspector = createIntrospector(
    introspectionOptions({
      issuer: ISSUER,
      endpoint: issuer.endpoint,
      clientId: issuer.clientId,
      clientSecret: issuer.clientSecret,
      ttlMs: 30_000,
      tickMs: () => clock.ms,
      onResult: (result) => results.push(result),
      logger: {
        info() {},
        warn() {},
        error: (fields: unknown) => logged.push(fields),
      } as IntrospectionOptions['logger'],
      failures: {
        failed: ({ event, fields }, error) =>
          logged.push({ event, ...fields, message: (error as Error).message }),
      },
      ...change,
    }),
  )
  t.teardown(async () => {
    await introspector.close()
    await issuer.close()
  })
  return { issuer, introspector, clock, results, logged }
}

type Answer = (response: ServerResponse) => void
const json =
  (text: string, status = 200): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(text)
  }
const redirect: Answer = (response) => {
  response.writeHead(307, { location: '/elsewhere' }).end()
}
const hangUp: Answer = (response) => {
  response.destroy()
}
const halfway: Answer = (response) => {
  response.writeHead(200, { 'content-length': '1000' })
  response.write('{"active":', () => response.destroy())
}
const GOOD_ANSWER = JSON.stringify({ active: true, iss: ISSUER, exp: 9_999_999_999 })
const typed =
  (type: string | undefined, coding?: 'gzip'): Answer =>
  (response) => {
    if (type !== undefined) response.setHeader('content-type', type)
    if (coding !== undefined) response.setHeader('content-encoding', coding)
    response.end(coding === undefined ? GOOD_ANSWER : gzipSync(GOOD_ANSWER))
  }
/** Counts the written bytes of an endless response. */
function endless(written: { bytes: number }): Answer {
  return (response) => {
    const chunk = Buffer.alloc(64 * 1024, 0x20)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(2 ** 30) })
    const more = (): void => {
      if (response.destroyed) return
      written.bytes += chunk.length
      response.write(chunk, more)
    }
    more()
  }
}

t.test('introspect() never uses a malformed response as a token status', async (t) => {
  const written = { bytes: 0 }
  const rows: readonly (readonly [what: string, answer: Answer, code: string])[] = [
    ['"true"', json('{"active":"true"}'), 'ERR_INTROSPECTION_RESPONSE'],
    ['1', json('{"active":1}'), 'ERR_INTROSPECTION_RESPONSE'],
    ['null', json('{"active":null}'), 'ERR_INTROSPECTION_RESPONSE'],
    ['nothing', json('{}'), 'ERR_INTROSPECTION_RESPONSE'],
    ['an array', json('[{"active":true}]'), 'ERR_INTROSPECTION_RESPONSE'],
    ['both', json('{"active":false,"active":true}'), 'ERR_INTROSPECTION_RESPONSE'],
    [
      'deep JSON',
      json(`{"active":true,"x":${'['.repeat(500)}${']'.repeat(500)}}`),
      'ERR_INTROSPECTION_RESPONSE',
    ],
    ['HTML', json('<html>active: true</html>'), 'ERR_INTROSPECTION_RESPONSE'],
    ['an empty body', json(''), 'ERR_INTROSPECTION_RESPONSE'],
    ['1 GB', endless(written), 'ERR_INTROSPECTION_RESPONSE'],
    ['JSON with an HTML content type', typed('text/html'), 'ERR_INTROSPECTION_RESPONSE'],
    ['JSON with a text content type', typed('text/plain; a=application/json'), 'ERR_INTROSPECTION_RESPONSE'],
    ['JSON without a content type', typed(undefined), 'ERR_INTROSPECTION_RESPONSE'],
    ['a compressed response', typed('application/json', 'gzip'), 'ERR_INTROSPECTION_RESPONSE'],
    ['500', json('{"active":true}', 500), 'ERR_INTROSPECTION_STATUS'],
    ['201', json('{"active":true}', 201), 'ERR_INTROSPECTION_STATUS'],
    ['a redirect', redirect, 'ERR_INTROSPECTION_STATUS'],
    ['401', json('{"active":true}', 401), 'ERR_INTROSPECTION_CREDENTIALS'],
    ['403', json('{"active":true}', 403), 'ERR_INTROSPECTION_CREDENTIALS'],
    ['no response', hangUp, 'ERR_INTROSPECTION_CONNECTION'],
    ['an incomplete response', halfway, 'ERR_INTROSPECTION_CONNECTION'],
  ]
  for (const [what, answer, code] of rows) {
    const { issuer, introspector, results } = await setUp(t)
    issuer.answerWith(answer)
    await t.rejects(introspector.introspect('a'), { code }, what)
    t.equal(issuer.asked.length, code === 'ERR_INTROSPECTION_CONNECTION' ? 2 : 1, `${what}: requests`)
    // A JSON response without a token status also counts as one introspection result.
    t.equal(results.length, 1)
  }
  t.ok(written.bytes < 32 * 1024 * 1024, `${written.bytes} bytes were read at most`)
})

t.test('introspect() accepts JSON with any spelling of its media type', async (t) => {
  const { issuer, introspector } = await setUp(t)
  for (const type of ['application/json', 'Application/JSON;charset=UTF-8', 'application/json ; x=y']) {
    issuer.answerWith(typed(type))
    t.match(await introspector.introspect('a'), { status: { active: true } }, type)
  }
})

t.test('introspect() stops reading an endless slow response at its deadline', async (t) => {
  const { issuer, introspector } = await setUp(t, { timeoutMs: 200 })
  issuer.answerWith((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(timer))
  })
  await t.rejects(introspector.introspect('a'), { code: 'ERR_INTROSPECTION_TIMEOUT' })
})

t.test(
  'introspect() stops waiting for a response at its deadline, and does not retry afterwards',
  async (t) => {
    const { issuer, introspector } = await setUp(t, { timeoutMs: 400 })
    issuer.answerWith(() => undefined)
    await t.rejects(introspector.introspect('a'), { code: 'ERR_INTROSPECTION_TIMEOUT' })
    t.equal(issuer.asked.length, 1)
  },
)

t.test('introspect() retries once when the connection breaks, and returns the second response', async (t) => {
  const { issuer, introspector, results } = await setUp(t)
  issuer.store('a')
  issuer.answerWith((response) => {
    issuer.answerWith(undefined)
    response.destroy()
  })
  t.match(await introspector.introspect('a'), { status: { active: true }, ageMs: 0, ttlMs: 30_000 })
  t.equal(issuer.asked.length, 2)
  t.same(results, ['answered'])
})

t.test(
  'introspect() limits concurrent requests for a thousand tokens, and queues or rejects the rest',
  async (t) => {
    const { issuer, introspector, results } = await setUp(t, { maxConcurrent: 64, maxQueue: 500 })
    let open = 0
    let most = 0
    const held: ServerResponse[] = []
    issuer.answerWith((response) => {
      open += 1
      most = Math.max(most, open)
      response.on('close', () => {
        open -= 1
      })
      held.push(response)
    })
    const all = Array.from({ length: 1_000 }, (_, i) => introspector.introspect(`token-${i}`))
    const outcomes = Promise.allSettled(all)
    t.match(introspector.load, { working: 64, waiting: 500 })
    await until('the cap is reached', async () => held.length === 64)
    issuer.answerWith((response) => {
      most = Math.max(most, open + 1)
      json('{"active":false}')(response)
    })
    for (const response of held) json('{"active":false}')(response)
    const rejected = (await outcomes).filter(({ status }) => status === 'rejected')
    t.equal(rejected.length, 1_000 - 64 - 500)
    for (const one of rejected)
      t.match(one, { reason: { code: 'ERR_INTROSPECTION_OVERLOAD', retryAfterMs: 1_000 } })
    t.equal(issuer.asked.length, 564)
    t.ok(most <= 64, `${most} concurrent requests`)
    t.match(introspector.load, { working: 0, waiting: 0 })
    t.equal(results.filter((result) => result === 'answered').length, 564)
  },
)

t.test('introspect() opens the circuit of a failing issuer and returns the retry time', async (t) => {
  const { issuer, introspector, clock } = await setUp(t)
  issuer.answerWith(json('', 500))
  for (let i = 0; i < 5; i++) {
    clock.ms += 1
    await t.rejects(introspector.introspect('a'), { code: 'ERR_INTROSPECTION_STATUS' })
  }
  t.equal(introspector.unavailableReason, 'The issuer responded with status 500.')
  await t.rejects(introspector.introspect('a'), {
    code: 'ERR_INTROSPECTION_SUSPENDED',
    retryAfterMs: 1_000,
  })
  t.equal(issuer.asked.length, 5)
  issuer.answerWith(undefined)
  clock.ms += 1_000
  t.match(await introspector.introspect('a'), { status: { active: false } })
  t.equal(introspector.unavailableReason, undefined)
})

t.test('introspect() sends no request for waiting callers after the circuit opened', async (t) => {
  const { issuer, introspector, results } = await setUp(t, { maxConcurrent: 1, maxQueue: 20 })
  issuer.answerWith(json('{}', 500))
  await Promise.allSettled(
    Array.from({ length: 12 }, (_, index) => introspector.introspect(`token-${index}`)),
  )
  t.equal(issuer.asked.length, 5)
  t.equal(results.filter((result) => result === 'ERR_INTROSPECTION_SUSPENDED').length, 7)
})

/** Returns a function that rejects some tokens with an error, and reports all other tokens as inactive. */
function rejecting(isRejected: (token: string) => boolean, rejection: Answer) {
  return (response: ServerResponse, body: URLSearchParams) =>
    (isRejected(body.get('token') ?? '') ? rejection : json('{"active":false}'))(response)
}

t.test('introspect() reports a token as inactive when the issuer does not support its kind', async (t) => {
  for (const error of ['unsupported_token_type', 'invalid_token']) {
    const { issuer, introspector, results } = await setUp(t)
    issuer.answerWith(json(JSON.stringify({ error }), 400))
    t.match(await introspector.introspect('crafted'), {
      status: { active: false, fault: { reason: 'inactive' } },
    })
    t.equal(issuer.asked.length, 1, 'the error code is sufficient')
    t.same(results, ['answered'])
    t.equal(introspector.unavailableReason, undefined)
  }
})

t.test('introspect() reports a token as inactive when the issuer rejects only this token', async (t) => {
  const rejections: Readonly<Record<string, Answer>> = {
    invalid_request: json('{"error":"invalid_request"}', 400),
    '400 with HTML': (response) => response.writeHead(400, { 'content-type': 'text/html' }).end('<p>'),
    '400 without a body': (response) => response.writeHead(400).end(),
    '422 that is not an object': json('[]', 422),
  }
  for (const [what, rejection] of Object.entries(rejections)) {
    const { issuer, introspector, clock, logged, results } = await setUp(t)
    issuer.answerWith(rejecting((token) => token.startsWith('crafted'), rejection))
    for (let count = 0; count < 20; count++) {
      clock.ms += 1
      const { status } = await introspector.introspect(`crafted ${count}`)
      t.match(status, { active: false, fault: { reason: 'inactive' } }, what)
    }
    t.equal(issuer.asked.length, 60, `${what}: a probe and the token again follow each rejection`)
    t.same(new Set(results), new Set(['answered']))
    t.equal(introspector.unavailableReason, undefined, what)
    t.same(logged, [], what)
  }
})

/**
 * For each format: a token of the issuer, and a function that checks the format. The issuer rejects tokens in other
 * formats.
 */
const FORMS: Readonly<Record<string, readonly [token: string, isForm: (token: string) => boolean]>> = {
  hexadecimal: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b', (token) => /^[\da-f]{40}$/.test(token)],
  'a UUID': [
    '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
    (token) => /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(token),
  ],
  'a prefix and letters': [
    'at_Zk3nQx8vTb7LmWc2Rd5YpHs9Gf4JaEuK',
    (token) => /^at_[A-Za-z\d]{32}$/.test(token),
  ],
  base58: ['5Kb8kLf9zgWQnogidDA76MzPL6TsZZY3', (token) => /^[1-9A-HJ-NP-Za-km-z]{32}$/.test(token)],
  base32: ['MZXW6YTBOJRGK43FNZ2G64TZ', (token) => /^[A-Z2-7]{24}$/.test(token)],
  'digits alone': ['90817263544536271809', (token) => /^\d{20}$/.test(token)],
  'a JWT': [
    signJws(
      { alg: 'ES256', typ: 'at+jwt' },
      { iss: ISSUER },
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    ),
    isCanonicalJwt,
  ],
}

function isCanonicalJwt(token: string): boolean {
  const parts = token.split('.').map((part) => ({ part, bytes: Buffer.from(part, 'base64url') }))
  return (
    parts.length === 3 &&
    parts.every(({ part, bytes }) => bytes.toString('base64url') === part) &&
    parts.slice(0, 2).every(({ bytes }) => bytes.toString().startsWith('{'))
  )
}

t.test(
  'introspect() reports a token in a wrong format as inactive if the issuer rejects this format',
  async (t) => {
    for (const [form, [token, isForm]] of Object.entries(FORMS)) {
      const { issuer, introspector, logged } = await setUp(t)
      issuer.answerWith((response, body) => {
        const asked = body.get('token') ?? ''
        if (asked === token) json(GOOD_ANSWER)(response)
        else rejecting((one) => !isForm(one), json('{"error":"invalid_request"}', 400))(response, body)
      })
      t.match(await introspector.introspect(token), { status: { active: true } }, form)
      t.match(await introspector.introspect('crafted'), { status: { active: false } }, form)
      const asked = issuer.asked.map((body) => body.get('token'))
      t.equal(asked.filter((one) => one === token).length, 1, `${form}: no probe is the token of a client`)
      t.ok(isForm(asked[2] ?? ''), `${form}: the probe has the form`)
      t.equal(asked.length, 4, `${form}: one probe`)
      t.same(logged, [], form)
      t.equal(introspector.unavailableReason, undefined, form)
    }
  },
)

t.test('introspect() counts a probe as accepted if the issuer does not support its token type', async (t) => {
  const { issuer, introspector } = await setUp(t)
  issuer.answerWith((response, body) => {
    const error = body.get('token') === 'crafted' ? 'invalid_request' : 'unsupported_token_type'
    json(JSON.stringify({ error }), 400)(response)
  })
  t.match(await introspector.introspect('crafted'), { status: { active: false } })
})

t.test(
  'introspect() does not report a token as inactive when an outage follows an accepted request',
  async (t) => {
    const { issuer, introspector } = await setUp(t)
    t.match(await introspector.introspect('other'), { status: { active: false } })
    issuer.answerWith(json('{"error":"invalid_request"}', 400))
    await t.rejects(introspector.introspect('good'), { code: 'ERR_INTROSPECTION_STATUS', status: 400 })
    issuer.answerWith(json(GOOD_ANSWER))
    t.match(await introspector.introspect('good'), { status: { active: true } })
  },
)

t.test(
  'introspect() reports a token as active if the issuer rejects it only at the end of an outage',
  async (t) => {
    const { issuer, introspector, logged } = await setUp(t)
    issuer.store('good')
    issuer.answerWith((response) => {
      issuer.answerWith(undefined)
      json('{"error":"invalid_request"}', 400)(response)
    })
    t.match(await introspector.introspect('good'), { status: { active: true } })
    t.same(
      issuer.asked.map((body) => body.get('token')),
      ['good', PROBE_TOKEN, 'good'],
    )
    t.same(logged, [])
  },
)

t.test(
  'introspect() does not report a token as inactive if the second rejection differs from the first rejection',
  async (t) => {
    const seconds: readonly (readonly [answer: Answer, status: number])[] = [
      [json('{"error":"invalid_request"}', 422), 422],
      [json('{"error":"server_error"}', 400), 400],
      [json('', 400), 400],
      [json('', 413), 413],
      [json('', 503), 503],
    ]
    for (const [second, status] of seconds) {
      const { issuer, introspector } = await setUp(t)
      let count = 0
      issuer.answerWith((response, body) => {
        if (body.get('token') !== 'good') return json('{"active":false}')(response)
        count += 1
        return (count === 1 ? json('{"error":"invalid_request"}', 400) : second)(response)
      })
      await t.rejects(introspector.introspect('good'), { code: 'ERR_INTROSPECTION_STATUS', status })
      t.equal(issuer.asked.length, 3)
    }
  },
)

t.test('introspect() does not report a token as inactive when a probe in a known format fails', async (t) => {
  const failures: readonly Answer[] = [400, 413, 429, 500, 503].map((status) => json('{}', status))
  for (const failure of [...failures, hangUp, halfway]) {
    const { issuer, introspector } = await setUp(t)
    const known = issuer.store('00112233445566778899aabbccddeeff')
    await introspector.introspect(known)
    issuer.answerWith((response, body) => {
      const token = body.get('token')
      if (token === 'good') return json('{"error":"invalid_request"}', 400)(response)
      return (token === PROBE_TOKEN ? json('{"active":false}') : failure)(response)
    })
    await t.rejects(introspector.introspect('good'), { code: 'ERR_INTROSPECTION_STATUS', status: 400 })
    t.notOk(issuer.asked.some((body) => body.get('token') === PROBE_TOKEN))
  }
})

t.test('introspect() derives the format of probes from active tokens only', async (t) => {
  const { issuer, introspector } = await setUp(t)
  const known = issuer.store('00112233445566778899aabbccddeeff')
  await introspector.introspect(known)
  await introspector.introspect('unknown but long enough')
  issuer.answerWith(json('{"error":"invalid_token"}', 400))
  await introspector.introspect('invalid but long enough')
  issuer.answerWith(rejecting((token) => token === 'crafted', json('{}', 400)))
  t.match(await introspector.introspect('crafted'), { status: { active: false } })
  t.same(
    issuer.asked.slice(3).map((body) => body.get('token')),
    ['crafted', '00112233445566778899bbaaaaaaaaaf', 'crafted'],
  )
})

t.test(
  'introspect() does not report a token as inactive while the issuer rejects every request',
  async (t) => {
    const { issuer, introspector, clock, logged, results } = await setUp(t)
    issuer.answerWith(json('{"error":"invalid_request"}', 400))
    for (let i = 0; i < 20; i++) {
      clock.ms += 1
      await t.rejects(introspector.introspect('odd'), { code: 'ERR_INTROSPECTION_STATUS', status: 400 })
    }
    t.equal(issuer.asked.length, 21, 'one probe per second at most, and the circuit stays closed')
    t.same(logged, [
      {
        event: 'introspection_requests_rejected',
        issuer: ISSUER,
        message: 'The issuer responded with status 400.',
      },
    ])
    t.match(introspector.unavailableReason, /rejects/)
    t.same(new Set(results), new Set(['ERR_INTROSPECTION_STATUS']))
    issuer.answerWith(rejecting((token) => token === 'odd', json('{}', 400)))
    clock.ms += 1_000
    t.match(await introspector.introspect('odd'), { status: { active: false } })
    t.equal(introspector.unavailableReason, undefined)
  },
)

t.test('introspect() sends no probe after a failure that the token cannot cause', async (t) => {
  for (const status of [404, 405, 408, 413, 414, 415, 429, 431, 500, 503]) {
    const { issuer, introspector } = await setUp(t)
    issuer.answerWith(rejecting((token) => token === 'a', json('{"error":"invalid_request"}', status)))
    await t.rejects(introspector.introspect('a'), { code: 'ERR_INTROSPECTION_STATUS', status })
    t.equal(issuer.asked.length, 1)
  }
})

t.test('introspect() treats invalid_client as wrong credentials with any status', async (t) => {
  for (const error of ['invalid_client', 'unauthorized_client']) {
    const { issuer, introspector, logged } = await setUp(t)
    issuer.answerWith(json(JSON.stringify({ error }), 400))
    await t.rejects(introspector.introspect('a'), { code: 'ERR_INTROSPECTION_CREDENTIALS' })
    t.match(logged, [{ event: 'introspection_credentials_refused' }])
  }
})

t.test('introspect() logs rejected client credentials once, as an error', async (t) => {
  const { introspector, logged, results } = await setUp(t, { clientSecret: 'another one' })
  for (let i = 0; i < 3; i++)
    await t.rejects(introspector.introspect('a'), { code: 'ERR_INTROSPECTION_CREDENTIALS' })
  t.match(logged, [{ event: 'introspection_credentials_refused', issuer: ISSUER }])
  t.equal(logged.length, 1)
  t.equal(introspector.unavailableReason, 'the issuer rejects the client credentials of the gateway')
  t.same(new Set(results), new Set(['ERR_INTROSPECTION_CREDENTIALS']))
})

t.test('introspect() does not retry after a response that is not HTTP', async (t) => {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const { introspector } = await setUp(t, { endpoint: `http://127.0.0.1:${port}/` })
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await t.rejects(introspector.introspect('a'), { code: 'ERR_INTROSPECTION_RESPONSE' })
  t.equal(connections, 1)
})
