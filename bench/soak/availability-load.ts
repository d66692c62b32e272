import { Agent, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { type Client, knownClient, type Tokens } from '../../test/fixtures/register-client.ts'
import type { RevocationCluster } from './revocation-cluster.ts'

/**
 * The kind of a request. `known` has a token that each gateway has accepted. `new` is one of the first uses of a token.
 * `denied` has a token without the scope. `revoked` has a token whose revocation got the response 200. `refresh` and
 * `revoke` are requests to the authorization server.
 */
export type UseKind = 'known' | 'new' | 'denied' | 'revoked' | 'refresh' | 'revoke'

/** Times are milliseconds of `performance.now()`. */
export type Use = {
  readonly kind: UseKind
  readonly sentMs: number
  readonly endMs: number
  /** 0 if no complete response arrived. */
  readonly status: number
  /** For `revoked`, the time of the response 200 to the revocation. */
  readonly acknowledgedMs?: number
  /** For a request to the API, the index of the gateway. */
  readonly gateway?: number
  /** For `refresh`, the number of the sequence of refresh tokens. */
  readonly sequence?: number
}

/**
 * Time from the response 200 to a revocation until one gateway rejects the token for the first time. Infinity if the
 * gateway still accepted the token or failed after 30 s. Milliseconds.
 */
export type RevocationTime = { readonly acknowledgedMs: number; readonly tookMs: number }

/** Rates and numbers of the load. */
export type LoadOptions = {
  /** Requests to the API. */
  readonly perSecond: number
  /** Number of sequences of refresh tokens. The load refreshes each sequence about once per second. */
  readonly sequences: number
  readonly revocationsPerSecond: number
  readonly known: number
  /** Number of tokens for first uses during an outage, when the server issues no new tokens. */
  readonly reserve: number
  /** Receives every token, code and secret. */
  readonly secret?: (value: string | undefined) => void
}

/** A load that continues until `stop()`. */
export type AvailabilityLoad = {
  /** Returns the outcomes since the start or the last call. */
  takeUses(): readonly Use[]
  takeRevocationTimes(): readonly RevocationTime[]
  /** Simulates a load balancer that sends no more requests to a gateway that is not ready. */
  withdraw(gateway: number): void
  restore(gateway: number): void
  stop(): Promise<void>
}

const ACCEPTED = 201
const REJECTED = 401
/**
 * Number of connections to each gateway. The number of known tokens is not a multiple of this number, so that each
 * connection gets each token.
 */
const CONNECTIONS = 7
const DENIED = 3
/** After this number of requests, most workers of a gateway have a revocable token in their cache. */
const FIRST_USES = 4
/**
 * After this number of requests, all workers of a gateway have a known token in their cache. The supervisor selects the
 * worker of each connection. During an outage, a worker accepts only tokens in its cache.
 */
const KNOWN_USES = 16
const REVOKED_KEPT = 40
const REVOCABLE_KEPT = 6
const FRESH_KEPT = 50
/** Of this number of API requests, one request uses a token without the scope, and one request uses a revoked token. */
const INVALID_EVERY = 20
const NEW_EVERY = 13
/** Without a new token, one of this number of planned first uses takes a token from the reserve. */
const RESERVE_EVERY = 6
const REFRESH_INTERVAL_MS = 1_000
/**
 * Interval of repeated requests to the authorization server. The interval is short in the first seconds of an outage.
 */
const RETRY_MS = 100
const LATE_RETRY_MS = 1_000
const LATE_AFTER_MS = 5_000
const POLL_MS = 5
const LATE_POLL_MS = 1_000
const GIVE_UP_POLLING_MS = 30_000
const REQUEST_TIMEOUT_MS = 10_000
const SCOPE = 'courses:read'

/**
 * Obtains the tokens, and then starts the load. The load sends requests at a fixed rate, without waiting for responses.
 */
export async function startAvailabilityLoad(
  cluster: Pick<RevocationCluster, 'gateways' | 'client'>,
  options: LoadOptions,
): Promise<AvailabilityLoad> {
  const { gateways } = cluster
  const { secret = () => undefined } = options
  const clients = gateways.map(({ url }) => knownClient({ baseUrl: url, secret }, cluster.client))
  const browser = openBrowser(gateways[0]?.url ?? '')
  const agents = Array.from(
    { length: CONNECTIONS },
    () => new Agent({ keepAlive: true, scheduling: 'fifo', maxSockets: 16 }),
  )
  const available = new Set(gateways.keys())
  let uses: Use[] = []
  let revocationTimes: RevocationTime[] = []
  let isStarted = false
  let stopping = false

  const obtain = (scope: string): Promise<Tokens> => cluster.client.obtainTokens({ browser, scope })
  const record = (use: Omit<Use, 'endMs'>): void => void uses.push({ ...use, endMs: performance.now() })

  /** Consecutive turns select the available gateways cyclically. */
  const choose = (turn: number): number => [...available][turn % available.size] ?? 0

  async function use(kind: UseKind, token: string, turn: number, acknowledgedMs?: number): Promise<number> {
    const gateway = choose(turn)
    const url = `${gateways[gateway]?.url}/api/courses`
    const sentMs = performance.now()
    const agent = agents[Math.floor(turn / gateways.length) % CONNECTIONS] as Agent
    const status = await statusOf(agent, url, token)
    record({ kind, sentMs, status, gateway, ...(acknowledgedMs === undefined ? {} : { acknowledgedMs }) })
    return status
  }

  const known: string[] = []
  const denied: string[] = []
  const first: string[] = []
  for (let count = 0; count < options.known; count++) known.push((await obtain(SCOPE)).accessToken)
  for (let count = 0; count < DENIED; count++) denied.push((await obtain('openid')).accessToken)
  for (let count = 0; count < options.sequences; count++) first.push((await obtain(SCOPE)).refreshToken)
  const fresh: string[] = []
  const reserve: string[] = []
  const revocable: string[] = []
  const revoked: { readonly token: string; readonly acknowledgedMs: number }[] = []

  async function refreshRepeatedly(sequence: number, refreshToken: string): Promise<void> {
    let current = refreshToken
    let workedMs = performance.now()
    for (let turn = sequence; !stopping; turn++) {
      const client = clients[choose(turn)] as Client
      const sentMs = performance.now()
      const answer = await client.refresh(current).catch(() => undefined)
      const status = answer?.status ?? 0
      record({ kind: 'refresh', sentMs, status, sequence })
      if (answer?.status === 200) {
        const tokens = client.readTokens(answer)
        current = tokens.refreshToken
        if (reserve.length < options.reserve) reserve.push(tokens.accessToken)
        else if (fresh.length < FRESH_KEPT) fresh.push(tokens.accessToken)
        if (isStarted) await wait(REFRESH_INTERVAL_MS * (0.5 + Math.random()))
        workedMs = performance.now()
      } else {
        await wait(retryMs(workedMs))
        // The authorization server has lost the grant, so the client continues with a new grant.
        if (status === 400) current = await persist(async () => (await obtain(SCOPE)).refreshToken)
      }
    }
  }

  /** Repeats `attempt` until `attempt` succeeds. Returns an empty string if the load stops first. */
  async function persist(attempt: () => Promise<string>): Promise<string> {
    const startedMs = performance.now()
    while (!stopping) {
      const result = await attempt().catch(() => undefined)
      if (result !== undefined) return result
      await wait(retryMs(startedMs))
    }
    return ''
  }

  /** Obtains tokens for revocations. Uses each token at all gateways, so that the gateways cache the token. */
  async function supplyRevocable(): Promise<void> {
    while (!stopping) {
      if (revocable.length >= REVOCABLE_KEPT) {
        await wait(RETRY_MS)
        continue
      }
      const token = await persist(async () => (await obtain(SCOPE)).accessToken)
      for (let turn = 0; turn < FIRST_USES * gateways.length && !stopping; turn++)
        await use('new', token, turn)
      revocable.push(token)
    }
  }

  async function revokeRepeatedly(): Promise<void> {
    let turn = 0
    while (!stopping) {
      const token = revocable.shift()
      if (token !== undefined) await revoke(token, turn++)
      await wait(1_000 / options.revocationsPerSecond)
    }
  }

  async function revoke(token: string, turn: number): Promise<void> {
    const startedMs = performance.now()
    for (let attempt = turn; !stopping; attempt++) {
      const client = clients[choose(attempt)] as Client
      const sentMs = performance.now()
      const answer = await client.revoke(token).catch(() => undefined)
      record({ kind: 'revoke', sentMs, status: answer?.status ?? 0 })
      if (answer?.status === 200) {
        const acknowledgedMs = performance.now()
        revoked.push({ token, acknowledgedMs })
        if (revoked.length > REVOKED_KEPT) revoked.shift()
        for (const gateway of gateways.keys()) follow(awaitRejection(token, gateway, acknowledgedMs))
        return
      }
      await wait(retryMs(startedMs))
    }
  }

  async function awaitRejection(token: string, gateway: number, acknowledgedMs: number): Promise<void> {
    const url = `${gateways[gateway]?.url}/api/courses`
    for (let turn = 0; !stopping; turn++) {
      const sentMs = performance.now()
      const status = available.has(gateway)
        ? await statusOf(agents[turn % CONNECTIONS] as Agent, url, token)
        : undefined
      if (status !== undefined) record({ kind: 'revoked', sentMs, status, gateway, acknowledgedMs })
      const tookMs = performance.now() - acknowledgedMs
      if (status === REJECTED) return void revocationTimes.push({ acknowledgedMs, tookMs })
      if (tookMs > GIVE_UP_POLLING_MS) {
        if (status !== undefined) revocationTimes.push({ acknowledgedMs, tookMs: Infinity })
        return
      }
      await wait(tookMs < 1_000 ? POLL_MS : LATE_POLL_MS)
    }
  }

  async function useNew(turn: number): Promise<boolean> {
    const isReserved = fresh.length === 0
    if (isReserved && turn % RESERVE_EVERY !== 0) return false
    const token = isReserved ? reserve.shift() : fresh.shift()
    if (token === undefined) return false
    const status = await use('new', token, turn)
    // A gateway that could not validate the token has not cached it. The next use is then also a first use.
    if (status !== ACCEPTED && status !== REJECTED) reserve.push(token)
    return true
  }

  async function send(number: number): Promise<void> {
    const turn = Math.floor(number / INVALID_EVERY)
    if (number % INVALID_EVERY === 1)
      return void (await use('denied', denied[turn % denied.length] ?? '', turn))
    const old = revoked[turn % revoked.length]
    if (number % INVALID_EVERY === 2 && old !== undefined)
      return void (await use('revoked', old.token, turn, old.acknowledgedMs))
    if (number % NEW_EVERY === 0 && (await useNew(number / NEW_EVERY))) return
    const token = known[Math.floor(number / gateways.length) % known.length] ?? ''
    await use('known', token, number)
  }

  const open = new Set<Promise<void>>()
  function follow(task: Promise<void>): void {
    const followed = task.finally(() => open.delete(followed))
    open.add(followed)
  }

  async function run(): Promise<void> {
    const startedMs = performance.now()
    for (let sent = 0; !stopping; await wait(POLL_MS)) {
      const due = ((performance.now() - startedMs) * options.perSecond) / 1_000
      for (; sent < due; sent++) follow(send(sent))
    }
  }

  for (const [sequence, token] of first.entries()) follow(refreshRepeatedly(sequence, token))
  follow(supplyRevocable())
  for (let turn = 0; turn < KNOWN_USES * gateways.length * known.length; turn++)
    await use('known', known[Math.floor(turn / gateways.length) % known.length] ?? '', turn)
  while (reserve.length < options.reserve) await wait(RETRY_MS)
  isStarted = true
  follow(run())
  follow(revokeRepeatedly())
  return {
    takeUses() {
      const taken = uses
      uses = []
      return taken
    },
    takeRevocationTimes() {
      const taken = revocationTimes
      revocationTimes = []
      return taken
    },
    withdraw: (gateway) => void available.delete(gateway),
    restore: (gateway) => void available.add(gateway),
    async stop() {
      stopping = true
      while (open.size > 0) await Promise.all(open)
      for (const agent of agents) agent.destroy()
    },
  }
}

function retryMs(failingSinceMs: number): number {
  return performance.now() - failingSinceMs > LATE_AFTER_MS ? LATE_RETRY_MS : RETRY_MS
}

function statusOf(agent: Agent, url: string, token: string): Promise<number> {
  return new Promise((resolve) => {
    const request = get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', () => resolve(0))
      response.on('close', () => resolve(0))
    })
    request.setTimeout(REQUEST_TIMEOUT_MS, () => request.destroy())
    request.on('error', () => resolve(0))
  })
}
