import t from 'tap'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'

t.test('RFC 9701: a response of an issuer that signs is accepted only with its signature', async (t) => {
  const jwts = await startJwtIssuer()
  t.teardown(() => jwts.close())
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map(({ introspection }) => ({
        ...aJwtIssuerConfig(jwts.issuer),
        introspection: introspection && { ...introspection, signed: true },
      })),
    }),
  })
  const now = Math.floor(Date.now() / 1_000)
  const claims = { active: true, iss: jwts.issuer, aud: BASE_URL, scope: 'courses:read', exp: now + 900 }
  const answer = (text: string, type: string) =>
    under.issuer.answerWith((response) => {
      response.writeHead(200, { 'content-type': type }).end(text)
    })
  const ask = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${under.gateway.url}/api/courses`, { headers })).status
  }
  const signed = jwts.sign(
    { aud: under.issuer.clientId, token_introspection: claims },
    { typ: 'token-introspection+jwt' },
  )
  answer(JSON.stringify(claims), 'application/json')
  t.equal(await ask('one'), 503, 'an unsigned response is rejected')
  answer(jwts.sign({ ...claims, aud: under.issuer.clientId }), 'application/token-introspection+jwt')
  t.equal(await ask('two'), 503, 'an access token is not a response')
  answer(signed, 'application/token-introspection+jwt')
  t.equal(await ask('three'), 200)
  t.equal(await ask(signed), 401, 'a response is not an access token')
  t.equal(under.upstream.requests.length, 1)
})
