import { setTimeout as wait } from 'node:timers/promises'
import { BenchError } from '../bench-error.ts'
import type { RevocationCluster } from './revocation-cluster.ts'

/** What became of tokens that were revoked, one time for each: until the last gateway refused it. Milliseconds. */
export type RevocationTimes = {
  readonly timesMs: readonly number[]
  /** Status codes of the answers to `POST /api/oauth/revoke`. */
  readonly answers: ReadonlyMap<number, number>
  readonly tokens: readonly string[]
}

/** What the upstream answers: the gateway let the request pass. */
const PASSED = 201
const DENIED = 401
const GIVE_UP_MS = 60_000

/** Obtains a token that every gateway has let pass, and knows by now. */
export async function obtainKnownToken(cluster: RevocationCluster): Promise<string> {
  const token = await cluster.obtainToken()
  const statuses = await statusesOf(cluster, token)
  if (statuses.some((status) => status !== PASSED))
    throw new BenchError('ERR_BENCH_SUBJECT', `gateways answered ${statuses} to a new token`)
  return token
}

/**
 * Revokes tokens one after the other, and takes the time from the answer until every gateway refuses.
 * @param before runs when the gateways know the tokens and none is revoked; `atOnce` tokens are revoked together then.
 * @param until 'denied': refused as revoked (401). 'not passed': 503 is enough, when nobody can say.
 */
export async function measureRevocations(
  cluster: RevocationCluster,
  options: {
    readonly rounds: number
    readonly atOnce?: number
    readonly before?: () => Promise<void>
    readonly until: 'denied' | 'not passed'
  },
): Promise<RevocationTimes> {
  const timesMs: number[] = []
  const tokens: string[] = []
  const answers = new Map<number, number>()
  for (let round = 0; round < options.rounds; round++) {
    const known: string[] = []
    for (let i = 0; i < (options.atOnce ?? 1); i++) known.push(await obtainKnownToken(cluster))
    await options.before?.()
    const measured = await Promise.all(
      known.map(async (token) => {
        const { status } = await cluster.client.revoke(token)
        answers.set(status, (answers.get(status) ?? 0) + 1)
        return timeUntilRefused(cluster, token, options.until)
      }),
    )
    timesMs.push(...measured)
    tokens.push(...known)
  }
  return { timesMs, answers, tokens }
}

/** How many answers of gateways let one of these tokens pass. */
export async function countPassed(cluster: RevocationCluster, tokens: readonly string[]): Promise<number> {
  let passed = 0
  for (const token of tokens)
    passed += (await statusesOf(cluster, token)).filter((status) => status === PASSED).length
  return passed
}

async function timeUntilRefused(
  cluster: RevocationCluster,
  token: string,
  until: 'denied' | 'not passed',
): Promise<number> {
  const startedMs = performance.now()
  await Promise.all(
    cluster.gateways.map(async (gateway) => {
      for (;;) {
        const status = await gateway.statusOf(token)
        if (status === DENIED || (until === 'not passed' && status !== PASSED)) return
        if (performance.now() - startedMs > GIVE_UP_MS)
          throw new BenchError('ERR_BENCH_SUBJECT', `a revoked token is still answered with ${status}`)
        await wait(1)
      }
    }),
  )
  return performance.now() - startedMs
}

function statusesOf(cluster: RevocationCluster, token: string): Promise<readonly number[]> {
  return Promise.all(cluster.gateways.map((gateway) => gateway.statusOf(token)))
}
