// If (r, s) is a valid ECDSA signature, then (r, n - s) is also valid. RFC 7518 permits both signatures. Earlier,
// docs/tokens.md claimed that each token has only one spelling.
import { hash, sign } from 'node:crypto'
import t from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { writeRevocation } from '../../oauth/revocation.ts'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { aRevocation } from '../fixtures/a-revocation.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { parseObject, send } from '../fixtures/send.ts'
import { startRevocationSource } from '../fixtures/start-revocation-source.ts'
import { until } from '../fixtures/until.ts'

/** The order n of each curve. SEC 2, sections 2.4 and 2.5. */
const ORDERS = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
} as const
const ALGORITHMS = ['ES256', 'ES384', 'ES512'] as const

/** Returns the same JWS with another value of `s` in the signature. */
function withS(jws: string, change: (s: bigint) => bigint): string {
  const at = jws.lastIndexOf('.') + 1
  const signature = Buffer.from(jws.slice(at), 'base64url')
  const size = signature.length / 2
  const s = change(BigInt(`0x${signature.subarray(size).toString('hex')}`))
  const digits = s.toString(16).padStart(size * 2, '0')
  const twin =
    jws.slice(0, at) +
    Buffer.concat([signature.subarray(0, size), Buffer.from(digits, 'hex')]).toString('base64url')
  recordCredential(twin)
  return twin
}

const twinOf = (jws: string, algorithm: keyof typeof ORDERS) => withS(jws, (s) => ORDERS[algorithm] - s)

const source = await startRevocationSource(t)
const issuer = await startJwtIssuer({ algorithms: ALGORITHMS })
t.teardown(issuer.close)
const under = await startGatewayUnderTest(t, {
  change: (config): GatewayConfig => ({
    ...config,
    issuers: [
      ...config.issuers.map((one) => ({ ...one, revocations: source.url })),
      {
        ...aJwtIssuerConfig(issuer.issuer, { algorithms: ALGORITHMS }),
        revocations: source.url,
        introspection: config.issuers[0]?.introspection,
      },
    ],
  }),
})
await until(
  'revocations arrive',
  async () => under.log().filter(({ event }) => event === 'revocations_connected').length === 2,
)

const url = `${under.gateway.url}/api/courses`
const statusOf = async (token: string) => (await send(url, { token })).status
const nameOf = (what: string) => hash('sha256', `${issuer.issuer}\n${what}`, 'base64url')
const granted = { aud: BASE_URL, scope: 'courses:read' }

t.test(
  'RFC 7518 section 3.4: accepts a token with either of its two valid ECDSA signatures, which differ in s',
  async (t) => {
    for (const alg of ALGORITHMS) {
      const token = issuer.sign(granted, { alg })
      const twin = twinOf(token, alg)
      t.not(twin, token)
      t.equal(await statusOf(token), 200, alg)
      t.equal(await statusOf(twin), 200, `${alg}, the other signature`)
    }
  },
)

t.test('rejects a signature whose s is not below n', async (t) => {
  const beyond = withS(issuer.sign(granted, { alg: 'ES512' }), (s) => s + ORDERS.ES512)
  const answer = await send(url, { token: beyond })
  t.match(answer, { status: 401, json: { error: 'invalid_token' } })
  t.match(answer.headers.get('www-authenticate'), /error="invalid_token"/)
})

t.test('after a revocation, rejects the token with either signature, cached or not', async (t) => {
  const revocations = {
    'by jti': { token: nameOf('token of jti') },
    'by subject': { subject: nameOf('subject') },
  }
  for (const [how, names] of Object.entries(revocations)) {
    const token = issuer.sign(
      { ...granted, jti: 'token of jti', sub: how === 'by jti' ? 'user-1' : 'subject' },
      { alg: 'ES256' },
    )
    const cached = twinOf(token, 'ES256')
    if (how === 'by jti') for (const one of [token, cached]) t.equal(await statusOf(one), 200, how)
    source.send(
      'revoked',
      writeRevocation(aRevocation({ ...names, atSeconds: Math.floor(Date.now() / 1_000) + 1 })),
    )
    await until('the token is rejected', async () => (await statusOf(token)) === 401)
    t.match(await send(url, { token: cached }), { status: 401, json: { error: 'invalid_token' } }, how)
  }
})

t.test('the use of a DPoP proof also invalidates its other signature', async (t) => {
  const key = aProofKey('ES256')
  const token = issuer.sign({ ...granted, cnf: { jkt: key.thumbprint } }, { alg: 'ES256' })
  const call = (proof: string) => send(url, { headers: { authorization: `DPoP ${token}`, dpop: proof } })
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const) {
    const proof = aProof({ key, url: `${BASE_URL}/api/courses`, token })
    const proofs = [proof, twinOf(proof, 'ES256')] as const
    t.equal((await call(proofs[order[0]])).status, 200)
    const replayed = await call(proofs[order[1]])
    t.equal(replayed.status, 401)
    t.equal(parseObject(replayed.text)['error'], 'invalid_dpop_proof')
    t.match(replayed.headers.get('www-authenticate'), /error="invalid_dpop_proof"/)
  }
})

t.test('Node.js creates signatures with a low s and with a high s', async (t) => {
  const { privateKey: key } = issuer.key('ES256')
  const half = ORDERS.ES256 / 2n
  const kinds = new Set<boolean>()
  for (let count = 0; count < 1_000 && kinds.size < 2; count++) {
    const signature = sign('sha256', Buffer.from(`${count}`), { key, dsaEncoding: 'ieee-p1363' })
    kinds.add(BigInt(`0x${signature.subarray(32).toString('hex')}`) > half)
  }
  t.equal(kinds.size, 2, 'a gateway that accepts low s alone rejects half of the tokens')
})
