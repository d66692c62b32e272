import t, { type Test } from 'tap'
import { describeProofFault, describeTokenFault } from '../../gateway/pipeline/describe-fault.ts'
import { DPOP_ALGORITHMS } from '../../oauth/dpop/algorithms.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { parseObject } from '../fixtures/send.ts'
import { PROOF_ROWS, type ProofRow, type ProofWorld } from './proof-rows.ts'

const ALGS = `algs="${DPOP_ALGORITHMS.join(' ')}"`
const METADATA = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource"`

async function startWorld(t: Test): Promise<{ under: GatewayUnderTest; world: ProofWorld }> {
  const issuer = await startJwtIssuer()
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, issuers: [...config.issuers, aJwtIssuerConfig(issuer.issuer)] }),
  })
  t.teardown(issuer.close)
  const key = aProofKey()
  const claims = { aud: BASE_URL, scope: 'courses:read courses:write' }
  return {
    under,
    world: {
      url: `${BASE_URL}/api/courses`,
      key,
      other: aProofKey(),
      rsa: aProofKey('RS256'),
      token: issuer.sign({ ...claims, cnf: { jkt: key.thumbprint } }),
      second: issuer.sign({ ...claims, cnf: { jkt: key.thumbprint }, jti: 'second' }),
      plain: issuer.sign(claims),
      certified: issuer.sign({ ...claims, cnf: { 'x5t#S256': key.thumbprint } }),
      now: Math.floor(Date.now() / 1_000),
    },
  }
}

async function answerTo(
  { raw }: GatewayUnderTest,
  row: Omit<ProofRow, 'answer' | 'what'>,
  world: ProofWorld,
) {
  const { method = 'GET', target = '/api/courses' } = row
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: spoofed.test',
    'Connection: close',
    ...row.send(world),
  ]
  const [head = '', body = ''] = (await raw(`${lines.join('\r\n')}\r\n\r\n`)).split('\r\n\r\n')
  return {
    status: Number(head.split(' ')[1]),
    head: head.toLowerCase(),
    challenge: /^www-authenticate: (.*)$/im.exec(head)?.[1] ?? '',
    body: parseObject(body),
  }
}

const isProofFault = (answer: string): boolean =>
  !describeProofFault(answer as 'missing').includes('undefined')

t.test('§4.3 of RFC 9449: every bad proof is rejected before it reaches the upstream', async (t) => {
  const { under, world } = await startWorld(t)
  t.ok(PROOF_ROWS.length >= 60, `${PROOF_ROWS.length} rows`)
  t.equal(new Set(PROOF_ROWS.map(({ what }) => what)).size, PROOF_ROWS.length, 'each row has a unique name')

  for (const row of PROOF_ROWS)
    await t.test(row.what, async (t) => {
      const { status, challenge, body } = await answerTo(under, row, world)
      const { answer } = row
      if (answer === 'two_credentials') {
        t.equal(status, 400)
        t.equal(body['error'], 'invalid_request')
        t.match(challenge, 'error="invalid_request"')
        return
      }
      t.equal(status, 401)
      if (isProofFault(answer)) {
        const description = describeProofFault(answer as 'missing')
        t.equal(body['error'], 'invalid_dpop_proof')
        t.equal(body['error_description'], description)
        t.equal(
          challenge,
          `DPoP error="invalid_dpop_proof", error_description="${description}", ${METADATA}, ${ALGS}`,
        )
        return
      }
      const description = describeTokenFault({ reason: answer as 'wrong_key' }, undefined)
      const told = `error="invalid_token", error_description="${description}", ${METADATA}`
      t.equal(body['error'], 'invalid_token')
      t.equal(body['error_description'], description)
      t.equal(
        challenge,
        answer === 'proof_missing' ? `Bearer ${told}, DPoP ${ALGS}` : `DPoP ${told}, ${ALGS}`,
      )
    })

  t.equal(under.upstream.bytes, '', 'nothing was forwarded')
  for (const token of [world.token, world.second, world.plain, world.certified])
    t.notMatch(under.logText(), token.slice(-30), 'no token is in the log')
})

t.test(
  '§7.1 of RFC 9449: accepts a valid proof once, rejects the proof when it is replayed, and never forwards it',
  async (t) => {
    const { under, world } = await startWorld(t)
    const proof = aProof({ key: world.key, url: world.url, token: world.token })
    const row = { send: () => [`Authorization: dpop ${world.token}`, `dPoP: ${proof}`] }
    const first = await answerTo(under, row, world)
    t.equal(first.status, 200)
    t.notMatch(first.head, 'dpop-nonce:')
    t.match(first.head, /access-control-expose-headers: .*dpop-nonce/)
    const forwarded = under.upstream.bytes
    t.match(forwarded, 'x-auth-subject: user-1')
    t.notMatch(forwarded.toLowerCase(), 'dpop')
    t.notMatch(forwarded.toLowerCase(), 'authorization')

    const again = await answerTo(under, row, world)
    t.equal(again.status, 401)
    t.equal(again.body['error'], 'invalid_dpop_proof')
    t.equal(again.body['error_description'], describeProofFault('replayed'))
    const elsewhere = await answerTo(under, { ...row, target: '/api/courses?page=2' }, world)
    t.equal(elsewhere.body['error_description'], describeProofFault('replayed'), 'also with another query')
    t.equal(under.upstream.bytes, forwarded, 'the replay was not forwarded')
  },
)

t.test('§4.3 ignores query and fragment of htu, and normalizes the URL', async (t) => {
  const { under, world } = await startWorld(t)
  const { key, token } = world
  for (const url of [
    `${world.url}?a=b`,
    `${world.url}#there`,
    'HTTP://API.TEST/api/courses',
    'http://api.test:80/api/courses',
    'http://api.test/api/c%6furses',
  ]) {
    const send = () => [`Authorization: DPoP ${token}`, `DPoP: ${aProof({ key, url, token })}`]
    t.equal((await answerTo(under, { send, target: '/api/courses?page=1' }, world)).status, 200, url)
  }
})

for (const algorithm of DPOP_ALGORITHMS)
  t.test(`accepts a proof signed with ${algorithm}`, async (t) => {
    const issuer = await startJwtIssuer()
    const under = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, issuers: [aJwtIssuerConfig(issuer.issuer)] }),
    })
    t.teardown(issuer.close)
    const key = aProofKey(algorithm)
    const token = issuer.sign({ aud: BASE_URL, scope: 'courses:read', cnf: { jkt: key.thumbprint } })
    const url = `${BASE_URL}/api/courses`
    const response = await fetch(`${under.gateway.url}/api/courses`, {
      headers: { authorization: `DPoP ${token}`, dpop: aProof({ key, url, token }) },
    })
    t.equal(response.status, 200)
  })

t.test('denies a bound token that lacks the scope, with a DPoP challenge', async (t) => {
  const { under, world } = await startWorld(t)
  const { key, token } = world
  const url = `${BASE_URL}/api/challenged`
  const { status, challenge } = await answerTo(
    under,
    {
      target: '/api/challenged',
      send: () => [`Authorization: DPoP ${token}`, `DPoP: ${aProof({ key, url, token })}`],
    },
    world,
  )
  t.equal(status, 403)
  t.match(challenge, /^DPoP error="insufficient_scope", .*scope="orders:read", .*algs="ES256 /)
})
