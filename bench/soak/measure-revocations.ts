import { setTimeout as wait } from 'node:timers/promises'
import { BenchError } from '../bench-error.ts'
import type { RevocationCluster } from './revocation-cluster.ts'

/** The outcomes of revoked tokens. */
export type RevocationTimes = {
  /**
   * For each token, the time from the response to the revocation to the start of the last accepted request.
   * Milliseconds.
   */
  readonly timesMs: readonly number[]
  /** Status codes of the responses to `POST /api/oauth/revoke`. */
  readonly answers: ReadonlyMap<number, number>
  readonly tokens: readonly string[]
}

/** The upstream responds with this status, so the gateway forwarded the request. */
const PASSED = 201
const DENIED = 401
const GIVE_UP_MS = 60_000
/**
 * Interval between two checks of a gateway, in milliseconds. With a single token, the interval is as short as possible.
 * With many tokens, the interval is longer, so that the checks do not slow down the gateways.
 */
const SINGLE_POLL_MS = 1
const BATCH_POLL_MS = 20
/** Interval between two new tokens after an outage. Milliseconds. */
const RECOVERY_POLL_MS = 500

/** Obtains a token that every gateway has accepted and cached. */
export async function obtainKnownToken(cluster: RevocationCluster): Promise<string> {
  const token = await cluster.obtainToken()
  const statuses = await statusesOf(cluster, token)
  if (statuses.some((status) => status !== PASSED))
    throw new BenchError('ERR_BENCH_SUBJECT', `gateways returned ${statuses} for a new token`)
  return token
}

/**
 * Waits until every gateway accepts a new token. After an outage, the circuit of the issuer stays open for some
 * seconds.
 * @throws {BenchError} ERR_BENCH_SUBJECT after more than a minute.
 */
export async function awaitIntrospection(cluster: RevocationCluster): Promise<void> {
  const deadlineMs = performance.now() + GIVE_UP_MS
  for (;;) {
    const statuses = await statusesOf(cluster, await cluster.obtainToken())
    if (statuses.every((status) => status === PASSED)) return
    if (performance.now() > deadlineMs)
      throw new BenchError('ERR_BENCH_SUBJECT', `gateways still return ${statuses} for a new token`)
    await wait(RECOVERY_POLL_MS)
  }
}

/**
 * Revokes tokens in `rounds` rounds of `concurrency` tokens. Measures the time from the response to the revocation to
 * the last request that a gateway accepted.
 * @param options.before runs in each round after the gateways have cached the tokens, and before the revocation.
 * @param options.after runs in each round when the gateways deny every token.
 * @param options.until `denied` waits for 401. `not passed` also accepts 503 (token status unavailable).
 */
export async function measureRevocations(
  cluster: RevocationCluster,
  options: {
    readonly rounds: number
    readonly concurrency?: number
    readonly before?: () => Promise<void>
    readonly after?: () => Promise<void>
    readonly until: 'denied' | 'not passed'
  },
): Promise<RevocationTimes> {
  const timesMs: number[] = []
  const tokens: string[] = []
  const answers = new Map<number, number>()
  const { concurrency = 1, until } = options
  const pollIntervalMs = concurrency === 1 ? SINGLE_POLL_MS : BATCH_POLL_MS
  for (let round = 0; round < options.rounds; round++) {
    const known: string[] = []
    for (let i = 0; i < concurrency; i++) known.push(await obtainKnownToken(cluster))
    await options.before?.()
    const measured = await Promise.all(
      known.map(async (token) => {
        const { status } = await cluster.client.revoke(token)
        answers.set(status, (answers.get(status) ?? 0) + 1)
        return timeUntilRejected(cluster, token, { until, pollIntervalMs })
      }),
    )
    timesMs.push(...measured)
    tokens.push(...known)
    await options.after?.()
  }
  return { timesMs, answers, tokens }
}

/** Uses each token once at each gateway. Returns the number of accepted requests. */
export async function countPassed(cluster: RevocationCluster, tokens: readonly string[]): Promise<number> {
  let passed = 0
  for (const token of tokens)
    passed += (await statusesOf(cluster, token)).filter((status) => status === PASSED).length
  return passed
}

/** Returns the time to the start of the last accepted request. Milliseconds. */
async function timeUntilRejected(
  cluster: RevocationCluster,
  token: string,
  { until, pollIntervalMs }: { readonly until: 'denied' | 'not passed'; readonly pollIntervalMs: number },
): Promise<number> {
  const startedMs = performance.now()
  const lastAcceptedMs = await Promise.all(
    cluster.gateways.map(async (gateway) => {
      for (let acceptedMs = startedMs; ; ) {
        const sentMs = performance.now()
        const status = await gateway.statusOf(token)
        if (status === DENIED || (until === 'not passed' && status !== PASSED)) return acceptedMs
        if (status === PASSED) acceptedMs = sentMs
        if (sentMs - startedMs > GIVE_UP_MS)
          throw new BenchError('ERR_BENCH_SUBJECT', `a revoked token still gets ${status}`)
        await wait(pollIntervalMs)
      }
    }),
  )
  return Math.max(...lastAcceptedMs) - startedMs
}

function statusesOf(cluster: RevocationCluster, token: string): Promise<readonly number[]> {
  return Promise.all(cluster.gateways.map((gateway) => gateway.statusOf(token)))
}
