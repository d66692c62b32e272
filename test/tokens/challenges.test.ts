import fc from 'fast-check'
import t from 'tap'
import { formatChallenge } from '../../oauth/challenge.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { parseObject } from '../fixtures/send.ts'

// Class 54: a challenge contains only configured values. It contains no value of a request or token.

const EVIL = [
  'evil.test',
  'api.test.evil.test',
  'evil.test:80',
  '127.0.0.1',
  'api.test", resource_metadata="http://evil.test/',
  'evil.test\\"',
  'evil.test/..',
  'user@evil.test',
]

async function challengeOf(raw: GatewayUnderTest['raw'], target: string, lines: readonly string[]) {
  const head = [`GET ${target} HTTP/1.1`, 'Host: api.test', 'Connection: close', ...lines]
  const [answer = '', body = ''] = (await raw(`${head.join('\r\n')}\r\n\r\n`)).split('\r\n\r\n')
  return {
    status: Number(answer.split(' ')[1]),
    challenge: /^www-authenticate: (.*)$/im.exec(answer)?.[1] ?? '',
    body: parseObject(body),
  }
}

t.test(
  'class 54: a challenge contains no value from a Host header, forwarding header, path or token',
  async (t) => {
    const { raw, issuer, upstream } = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, resources: [{ path: '/api/challenged' }] }),
    })
    const good = issuer.store('powerless', {
      aud: [BASE_URL, `${BASE_URL}/api/challenged`],
      client_id: 'evil"test',
    })
    const root = `${BASE_URL}/.well-known/oauth-protected-resource`
    const wanted = {
      '/api/denied': { bad: root, none: undefined },
      '/api/challenged': { bad: `${root}/api/challenged`, none: `${root}/api/challenged` },
      '/api/challenged?x="evil.test"&resource_metadata=evil.test': {
        bad: `${root}/api/challenged`,
        none: `${root}/api/challenged`,
      },
    }
    for (const [target, metadata] of Object.entries(wanted))
      for (const evil of EVIL)
        for (const [kind, authorization] of Object.entries({
          none: [],
          bad: [`Authorization: Bearer evil.test`],
          junk: [`Authorization: Bearer "evil.test", error="x"`],
          scheme: [`Authorization: Evil evil.test`],
          powerless: [`Authorization: Bearer ${good}`],
        })) {
          const lines = [
            `GET ${target} HTTP/1.1`,
            `Host: ${evil}`,
            `X-Forwarded-Host: ${evil}`,
            `X-Forwarded-Proto: https`,
            `Forwarded: host="evil.test";proto=https`,
            `X-Original-URL: http://evil.test/`,
            `Origin: http://evil.test`,
            'Connection: close',
            ...authorization,
          ]
          const [head = ''] = (await raw(`${lines.join('\r\n')}\r\n\r\n`)).split('\r\n\r\n')
          t.notMatch(head, /evil/, `${kind} at ${target} with ${evil}`)
          if (head.startsWith('HTTP/1.1 400 ')) continue // the Host header was invalid
          t.match(head, kind === 'powerless' ? /^HTTP\/1\.1 403 / : /^HTTP\/1\.1 401 /)
          const challenge = /^www-authenticate: (.*)$/im.exec(head)?.[1] ?? ''
          const { parameters } = parseChallenge(challenge)
          t.equal(parameters['resource_metadata'], kind === 'none' ? metadata.none : metadata.bad)
        }
    t.equal(upstream.requests.length, 0)
  },
)

t.test(
  'RFC 9449 §7.1: a request with the DPoP scheme, even if malformed, gets a challenge only with this scheme',
  async (t) => {
    const { raw, upstream } = await startGatewayUnderTest(t)
    for (const value of [
      'DPoP',
      'DPoP ',
      'dpop "x"',
      'DPoP a b',
      'DPoP a,b',
      'DPOP ä',
      `DPoP ${'x'.repeat(9_000)}`,
    ]) {
      const { status, challenge, body } = await challengeOf(raw, '/api/courses', [
        `Authorization: ${value}`,
        'DPoP: x',
      ])
      t.equal(status, 401, value)
      t.match(challenge, /^DPoP error="invalid_token", .*, algs="ES256 [^"]+"$/, value)
      t.notMatch(challenge, 'Bearer', value)
      t.match(body['error_description'], 'Authorization: DPoP <access token>')
    }
    const twice = await challengeOf(raw, '/api/courses', ['Authorization: DPoP a', 'Authorization: DPoP a'])
    t.equal(twice.status, 400)
    t.match(twice.challenge, /^DPoP error="invalid_request"/)
    t.match((await challengeOf(raw, '/api/courses', ['Authorization: DPoPx a'])).challenge, /^Bearer /)
    t.equal(upstream.bytes, '')
  },
)

t.test('class 54: formatChallenge() writes any input as one challenge in ASCII', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('", error="x', '\\', '\\"', 'a, Basic realm="x"', '\r\nx-evil: 1', '\u0000', 'ünï', '"'),
  )
  fc.assert(
    fc.property(text, text, text, (errorDescription, scope, resourceMetadata) => {
      const written = formatChallenge({ error: 'invalid_token', errorDescription, scope, resourceMetadata })
      if (!/^[\x20-\x7e]*$/.test(written)) return false
      const { scheme, parameters } = parseChallenge(written)
      return (
        scheme === 'Bearer' &&
        parameters['error'] === 'invalid_token' &&
        Object.keys(parameters).join() === 'error,error_description,scope,resource_metadata' &&
        // RFC 6750 section 3: characters allowed in error_description.
        /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(parameters['error_description'] ?? '')
      )
    }),
    { numRuns: 2_000 },
  )
})
