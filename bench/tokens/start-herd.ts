import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { startIssuer } from '../../test/fixtures/an-issuer.ts'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { sumSamples } from '../product/sum-samples.ts'
import { startCountingUpstream } from '../soak/start-counting-upstream.ts'
import { startSoakGateway } from '../soak/start-soak-gateway.ts'

const ISSUER = 'http://issuer.example'
const BASE_URL = 'http://127.0.0.1:8080'
const SCOPE = 'courses:read'
const PASSED = 201
const MISSES = 'scopegate_token_cache_misses_total'
const LIMIT_MS = 30_000
const POLL_INTERVAL_MS = 10

/**
 * Starts a gateway, and an issuer that counts introspection requests.
 * @returns a function that sends `uses` concurrent requests with the same new opaque token. The issuer responds only
 * after every request has missed the token cache. The function returns the number of introspection requests. The
 * function throws a BenchError (ERR_BENCH_ANSWERS) when the gateway rejects a request.
 */
export async function startHerd(options: {
  readonly folder: string
  readonly cleanup: Cleanup
}): Promise<(uses: number) => Promise<number>> {
  const issuer = await startIssuer({ issuer: ISSUER, audience: BASE_URL })
  options.cleanup.add(() => issuer.close())
  const upstream = await startCountingUpstream(options.cleanup)
  const gateway = await startSoakGateway({
    ...options,
    upstream: upstream.url,
    route: { scopes: { all: [SCOPE] }, anonymous: 'deny' },
    settings: {
      issuers: [
        {
          issuer: ISSUER,
          introspection: {
            endpoint: issuer.endpoint,
            clientId: issuer.clientId,
            clientSecretFile: './secret',
            timeout: `${LIMIT_MS / 1_000}s`,
          },
        },
      ],
    },
  })
  const misses = async (): Promise<number> =>
    sumSamples(await (await fetch(`${gateway.managementUrl}/metrics`)).text(), MISSES)

  return async (uses) => {
    const waiting: ServerResponse[] = []
    issuer.answerWith((response) => waiting.push(response))
    const token = `herd-${performance.now()}`
    const [askedBefore, missedBefore] = [issuer.asked.length, await misses()]
    const answers = Array.from({ length: uses }, async () => {
      const response = await fetch(`${gateway.url}/pub/herd`, {
        headers: { authorization: `Bearer ${token}` },
      })
      await response.arrayBuffer()
      return response.status
    })
    const deadlineMs = performance.now() + LIMIT_MS
    while ((await misses()) < missedBefore + uses && performance.now() < deadlineMs)
      await wait(POLL_INTERVAL_MS)
    issuer.answerWith(vouch)
    for (const response of waiting) vouch(response)
    const rejected = (await Promise.all(answers)).filter((status) => status !== PASSED)
    if (rejected.length > 0)
      throw new BenchError(
        'ERR_BENCH_ANSWERS',
        `of ${uses} uses of a valid token, ${rejected.length} got ${[...new Set(rejected)].join(', ')}`,
      )
    return issuer.asked.length - askedBefore
  }
}

function vouch(response: ServerResponse): void {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const claims = {
    active: true,
    iss: ISSUER,
    aud: BASE_URL,
    sub: 'user-1',
    client_id: 'client-1',
    scope: SCOPE,
    token_type: 'Bearer',
    iat: nowSeconds,
    exp: nowSeconds + 900,
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(claims))
}
