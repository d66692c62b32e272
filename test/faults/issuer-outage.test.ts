import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

// `availability.test.ts` tests outages of processes under load.

const BOUND = { maxTtlMs: 1_000, staleIfErrorMs: 6_000 }
const TOKENS = 50
/** Pause between two requests with one token. */
const THINK_MS = 50

t.test('while the issuer fails, rejects a revoked token after maxTtl plus staleIfError', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map((issuer) => ({ ...issuer, staleIfErrorMs: BOUND.staleIfErrorMs })),
      tokenCache: { ...config.tokenCache, maxTtlMs: BOUND.maxTtlMs },
    }),
  })
  const statusOf = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${under.gateway.url}/api/courses`, { headers })
    await response.arrayBuffer()
    return response.status
  }
  const tokens = Array.from({ length: TOKENS }, (_, index) =>
    under.issuer.store(`token-${index}`, { scope: 'courses:read' }),
  )
  const checkedAtMs = await Promise.all(
    tokens.map(async (token) => {
      t.equal(await statusOf(token), 200)
      return performance.now()
    }),
  )
  under.issuer.answerWith((response) => response.writeHead(503).end())
  for (const token of tokens) under.issuer.revoke(token, { push: false })
  let late = 0
  let accepted = 0
  await Promise.all(
    tokens.map(async (token, index) => {
      const endMs = (checkedAtMs[index] ?? 0) + BOUND.maxTtlMs + BOUND.staleIfErrorMs
      let status = 200
      while (status === 200) {
        const sentMs = performance.now()
        status = await statusOf(token)
        if (status === 200 && sentMs > endMs) late += 1
        if (status === 200) accepted += 1
        await wait(THINK_MS)
      }
      t.equal(status, 503)
    }),
  )
  t.ok(accepted > TOKENS, `${accepted} requests were accepted within the bound`)
  t.equal(late, 0, 'no request after the bound was accepted')
  under.issuer.answerWith(undefined)
  await until('the circuit is closed', async () => (await statusOf('token-0')) === 401)
  for (const token of tokens) t.equal(await statusOf(token), 401)
})
