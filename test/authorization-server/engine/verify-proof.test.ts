import { sign } from 'node:crypto'
import t from 'tap'
import {
  createProofRegistry,
  type ProofStatus,
  verifyProof,
} from '../../../authorization-server/engine/verify-proof.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import { macJws } from '../../fixtures/jws.ts'

const url = 'https://api.test/api/oauth/userinfo'
const token = 'token'
const key = aProofKey()
const now = Math.floor(Date.now() / 1_000)

function verify(
  proof: string,
  used = new Set<string>(),
  keyThumbprint = key.thumbprint,
): Promise<ProofStatus> {
  return verifyProof(proof, {
    method: 'GET',
    url,
    accessToken: token,
    keyThumbprint,
    nowSeconds: now,
    isFirstUse: async (thumbprint, id) => {
      if (used.has(thumbprint + id)) return false
      used.add(thumbprint + id)
      return true
    },
  })
}

const good = (options: Partial<Parameters<typeof aProof>[0]> = {}) => aProof({ key, url, token, ...options })

t.test('RFC 9449 §4.3 verifyProof() accepts a proof once', async (t) => {
  const used = new Set<string>()
  const proof = good()
  t.equal(await verify(proof, used), 'valid')
  t.equal(await verify(proof, used), 'invalid')
  t.equal(await verify(good({ url: `${url}?a=b#c` })), 'valid')
  const rsa = aProofKey('RS256')
  t.equal(await verify(good({ key: rsa }), used, rsa.thumbprint), 'valid')
})

t.test(
  'RFC 9449 §7.1 verifyProof() detects a proof with another key, and does not consume the proof',
  async (t) => {
    const used = new Set<string>()
    const rsa = aProofKey('RS256')
    t.equal(await verify(good({ key: rsa }), used), 'wrong_key')
    t.equal(used.size, 0)
  },
)

const BAD: Readonly<Record<string, string>> = {
  nothing: '',
  dots: '...',
  'more than 8 KiB': `${good()}${'A'.repeat(8_192)}`,
  'typ JWT': good({ header: { typ: 'JWT' } }),
  'alg none': good({ header: { alg: 'none' } }),
  HS256: macJws({ typ: 'dpop+jwt', alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, { jti: 'a' }, 'AAAA'),
  'another asymmetric algorithm': good({ key: aProofKey('RS256'), header: { alg: 'RS512' }, as: 'RS512' }),
  'no jwk': good({ header: { jwk: undefined } }),
  'the private key': good({ header: { jwk: key.privateKey.export({ format: 'jwk' }) } }),
  'a key of nothing': good({ header: { jwk: { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' } } }),
  'another key in the header': good({ header: { jwk: aProofKey().jwk } }),
  'no jti': good({ claims: { jti: undefined } }),
  'an empty jti': good({ claims: { jti: '' } }),
  'a jti that is a number': good({ claims: { jti: 7 } }),
  'an iat that is text': good({ claims: { iat: String(now) } }),
  'an address that cannot be parsed': good({ claims: { htu: 'nowhere' } }),
  'an exp in the past': good({ claims: { exp: now - 1 } }),
  'an nbf in the future': good({ claims: { nbf: now + 1 } }),
  'typ in other case': good({ header: { typ: 'DPoP+JWT' } }),
  'typ as a media type': good({ header: { typ: 'application/dpop+jwt' } }),
  'a key for encryption': good({ header: { jwk: { ...key.jwk, use: 'enc' } } }),
  'dot segments in its address': good({ url: url.replace('/oauth/', '/x/../oauth/') }),
  'a backslash in its address': good({ url: url.replace('https://', 'https:/\\') }),
  'a long jti': good({ claims: { jti: 'a'.repeat(257) } }),
  'another method': good({ method: 'POST' }),
  'another path': good({ url: `${url}/` }),
  'another host': good({ url: url.replace('api.test', 'evil.test') }),
  'no address': good({ claims: { htu: 7 } }),
  'another token': good({ token: 'other' }),
  'no ath': good({ claims: { ath: undefined } }),
  'no iat': good({ claims: { iat: undefined } }),
  old: good({ claims: { iat: now - 61 } }),
  'of the future': good({ claims: { iat: now + 61 } }),
}
for (const [what, proof] of Object.entries(BAD))
  t.test(`verifyProof() rejects a proof with ${what}`, async (t) => {
    t.equal(await verify(proof), 'invalid')
  })

t.test('verifyProof() rejects a proof with a repeated member in its claims', async (t) => {
  const [head, claims = ''] = good().split('.')
  const text = Buffer.from(claims, 'base64url').toString().replace(/^\{/, '{"jti":"first",')
  const input = `${head}.${Buffer.from(text).toString('base64url')}`
  const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
  t.equal(await verify(`${input}.${signature.toString('base64url')}`), 'invalid')
})

t.test('verifyProof() accepts values at their limits', async (t) => {
  t.equal(await verify(good({ claims: { exp: now + 1, nbf: now } })), 'valid')
  t.equal(await verify(good({ claims: { iat: now - 60 } })), 'valid')
  t.equal(await verify(good({ claims: { iat: now + 60 } })), 'valid')
  t.equal(await verify(good({ claims: { jti: 'a'.repeat(256) } })), 'valid')
  for (const algorithm of ['ES256', 'ES384', 'PS256', 'RS256', 'EdDSA', 'Ed25519']) {
    const other = aProofKey(algorithm)
    t.equal(await verify(good({ key: other }), new Set(), other.thumbprint), 'valid', algorithm)
  }
})

t.test('verifyProof() accepts a proof of 8192 characters, and rejects a longer proof', async (t) => {
  const withPadding = (length: number) => good({ claims: { jti: 'a', padding: 'x'.repeat(length) } })
  // Calculates the missing length: base64url encodes three bytes of JSON as four characters.
  const lengths = Array.from({ length: 3 }, (_, i) => 5_600 + i).map((length) => {
    const missing = Math.floor(((8_192 - withPadding(length).length) * 3) / 4)
    return withPadding(length + missing)
  })
  const longest = lengths.find(({ length }) => length === 8_192) ?? ''
  t.equal(longest.length, 8_192)
  t.equal(await verify(longest), 'valid')
  const longer = good({ header: { padding: 'xxxx' }, claims: { jti: 'a', padding: 'x'.repeat(5_900) } })
  t.ok(longer.length > 8_192)
  t.equal(await verify(longer), 'invalid')
})

t.test('verifyProof() stores the ID of a proof until its iat is one minute old', async (t) => {
  const marked: unknown[] = []
  const status = await verifyProof(good({ claims: { jti: 'an id', iat: now - 7 } }), {
    method: 'GET',
    url,
    accessToken: token,
    keyThumbprint: key.thumbprint,
    nowSeconds: now,
    isFirstUse: async (...use) => marked.push(use) > 0,
  })
  t.equal(status, 'valid')
  t.strictSame(marked, [[key.thumbprint, 'an id', now + 53]])
})

t.test('verifyProof() rethrows errors that the proof did not cause', async (t) => {
  await t.rejects(
    verifyProof(good(), {
      method: 'GET',
      url,
      accessToken: token,
      keyThumbprint: key.thumbprint,
      nowSeconds: now,
      isFirstUse: () => Promise.reject(new Error('the store is away')),
    }),
    /the store is away/,
  )
})

t.test(
  '§11.1 of RFC 9449: createProofRegistry() stores an ID until a minute after any replica accepts it',
  async (t) => {
    const claims: unknown[] = []
    const use = createProofRegistry({
      artifacts: { claim: async (...claim) => claims.push(claim) === 1 },
      nowSeconds: () => 1_000,
    })
    t.equal(await use('maker', 'id', 1_300), true)
    t.equal(await use('maker', 'id', 1_300), false)
    await use('maker', 'id2', 1_000)
    await use('maker2', 'id', 500)
    t.strictSame(claims, [
      ['eVbl08xMYmMJ1f4GanpDAMrYiCCTcvoZ7VNTyFGEF7I', 360],
      ['eVbl08xMYmMJ1f4GanpDAMrYiCCTcvoZ7VNTyFGEF7I', 360],
      ['9WkFAXujmLQzMIijMsb8qT_54zAyOgbrpF2FIXElyc0', 60],
      ['sY6ncPJwHBHVErr4TrXxYrGAc8AcOEl6u93mhBxKioA', 60],
    ])
  },
)
