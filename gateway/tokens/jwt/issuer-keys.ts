import type { VerificationKey } from '../../../oauth/jwt/verification-key.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import { describeFailure, type Logger } from '../../../platform/logging/logger.ts'
import { findKey } from './find-key.ts'
import { IssuerKeysError } from './issuer-keys-error.ts'
import type { JwksFileCache } from './jwks-file-cache.ts'
import type { LoadKeys } from './key-source.ts'
import { type DropReason, type KeySet, readJwks } from './read-jwks.ts'

export type IssuerKeysMeter = {
  refreshed(result: 'ok' | 'error'): void
  dropped(reason: DropReason): void
}

/** Clocks and timers, which tests replace. */
export type Clock = {
  /** Time on a monotonic clock. Milliseconds. */
  tickMs(): number
  /** Time on the wall clock. Milliseconds since the epoch. */
  nowMs(): number
  /** Calls `call` once after the delay. The returned function cancels the call. */
  after(delayMs: number, call: () => void): () => void
}

export type IssuerKeysOptions = {
  readonly issuer: string
  readonly algorithms: ReadonlySet<string>
  readonly load: LoadKeys
  /** The file cache of the keys. Undefined: a gateway that starts while the issuer is unavailable has no keys. */
  readonly copy: JwksFileCache | undefined
  /** Maximum time between two fetches while the issuer responds. Milliseconds. */
  readonly refreshMs: number
  /** Time after a fetch for an unknown `kid` in which other unknown `kid` values cause no fetch. Milliseconds. */
  readonly cooldownMs: number
  /** Maximum time since the issuer last confirmed the keys. The gateway does not use older keys. Milliseconds. */
  readonly maxStaleMs: number
  readonly clock: Clock
  /** Returns a random number, at least 0 and below 1, that spreads the fetches of many gateways over time. */
  readonly random: () => number
  readonly meter: IssuerKeysMeter
  readonly logger: Logger
}

export type IssuerKeys = {
  /** Whether keys were ever available, from the issuer or from the file cache. */
  readonly ready: boolean
  /**
   * Time of the last successful fetch, possibly by an earlier process. Milliseconds since the epoch. Undefined: no
   * fetch has succeeded.
   */
  readonly confirmedAtMs: number | undefined
  readonly size: number
  /** The usable keys. */
  readonly current: readonly VerificationKey[]
  /** The reason why the last fetch failed. Undefined after a successful fetch. */
  readonly unavailableReason: string | undefined
  /**
   * Fetches the keys. If the fetch fails, reads the file cache. Never rejects: the gateway retries in the background.
   */
  start(): Promise<void>
  /**
   * Returns the key that a token names. The return is synchronous when the key is known. Returns undefined when the
   * issuer does not have the key.
   * @throws {IssuerKeysError} by rejection: no keys are available, or the last fetch failed and the key may be new.
   */
  lookUp(
    keyId: string | undefined,
    algorithm: string,
  ): VerificationKey | undefined | Promise<VerificationKey | undefined>
  close(): void
}

/** Minimum time between two fetches, independent of the load. Milliseconds. */
const SHORTEST_INTERVAL_MS = 1_000
const LONGEST_RETRY_MS = 30_000
/**
 * Maximum retry delay without keys. This delay is short, because without keys no JWT of the issuer can be verified.
 * Milliseconds.
 */
const LONGEST_RETRY_WITHOUT_KEYS_MS = 5_000
/** Maximum number of recorded warnings. A hostile issuer can send any number of key names. */
const MAX_WARNED = 1_000
/** Minimum time between two log lines about tokens with an unknown `kid`. Milliseconds. */
const UNKNOWN_KID_LOG_MS = 60_000
/** Maximum length of a `kid` in the log. Anyone can send a token with any `kid`. */
const LOGGED_KID_CHARACTERS = 100

/**
 * Creates the key store of one issuer. The store fetches keys before a token needs them, and refreshes the keys in the
 * background. Only one fetch runs at a time. While the issuer is unavailable, the last keys stay in use.
 */
export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { issuer, clock, copy, meter, logger } = options
  let set: KeySet | undefined
  let ready = false
  let confirmedAtMs: number | undefined
  /** The time of the last confirmation of the key set by the issuer, on the monotonic clock. */
  let confirmedTick = 0
  let lastFetchTick = Number.NEGATIVE_INFINITY
  let coolUntilTick = Number.NEGATIVE_INFINITY
  let failures = 0
  let lastFailure: unknown
  let nextFetchTick = 0
  let flight: Promise<void> | undefined
  let cancelNext: () => void = () => undefined
  let closed = false
  const warned = new Set<string>()
  /** Tokens with an unknown `kid` since the last log line. */
  let unknownKids = 0
  let unknownKidLoggedTick = Number.NEGATIVE_INFINITY

  function take(loaded: KeySet, ageMs: number): void {
    // A new `kid` means that the issuer has rotated its keys, so the cooldown ends.
    const before = new Set(set?.keys.map(({ kid }) => kid))
    if (loaded.keys.some(({ kid }) => !before.has(kid))) coolUntilTick = Number.NEGATIVE_INFINITY
    set = loaded
    ready = true
    confirmedTick = clock.tickMs() - ageMs
    confirmedAtMs = clock.nowMs() - ageMs
    for (const { kid, reason } of loaded.dropped) {
      meter.dropped(reason)
      const name = `${reason} ${kid ?? ''}`
      if (warned.has(name) || warned.size >= MAX_WARNED) continue
      warned.add(name)
      logger.warn(
        { event: 'issuer_key_dropped', issuer, kid, reason },
        'the gateway ignores a key of the issuer',
      )
    }
  }

  /** Returns the current keys. Drops keys that are older than `maxStaleMs`. */
  function current(): KeySet | undefined {
    if (set !== undefined && clock.tickMs() - confirmedTick > options.maxStaleMs) {
      set = undefined
      logger.error(
        { event: 'issuer_keys_too_old', issuer },
        'the keys of the issuer are older than maxStale: requests with its JWTs get 503',
      )
    }
    return set
  }

  async function fetchKeys(): Promise<void> {
    const waitMs = lastFetchTick + SHORTEST_INTERVAL_MS - clock.tickMs()
    if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    if (closed) return
    lastFetchTick = clock.tickMs()
    try {
      const loaded = await options.load()
      if (closed) return
      take(loaded, 0)
      if (failures > 0)
        logger.info(
          { event: 'issuer_keys_back', issuer, failures },
          'the keys of the issuer can be fetched again',
        )
      failures = 0
      meter.refreshed('ok')
      keepCopy(loaded)
    } catch (error) {
      if (closed) return
      meter.refreshed('error')
      // Logs only the first failure and every tenth failure after that, because an outage may last for hours.
      failures += 1
      lastFailure = error
      if (failures % 10 === 1)
        logger.warn(
          {
            event: 'issuer_keys_not_fetched',
            issuer,
            has_keys: current() !== undefined,
            failures,
            err: error instanceof IssuerKeysError ? describeFailure(error) : error,
          },
          'the keys of the issuer cannot be fetched',
        )
    }
    plan()
  }

  function refresh(): Promise<void> {
    flight ??= fetchKeys().finally(() => {
      flight = undefined
    })
    return flight
  }

  function plan(): void {
    cancelNext()
    const jitter = 0.8 + options.random() / 5
    const longest = current() === undefined ? LONGEST_RETRY_WITHOUT_KEYS_MS : LONGEST_RETRY_MS
    const retryMs = Math.min(longest, options.refreshMs, SHORTEST_INTERVAL_MS * 2 ** Math.min(failures, 10))
    const delayMs = (failures === 0 ? options.refreshMs : retryMs) * jitter
    nextFetchTick = clock.tickMs() + delayMs
    cancelNext = clock.after(delayMs, () => void refresh())
  }

  function keepCopy({ keys }: KeySet): void {
    const kept = { fetchedAtMs: clock.nowMs(), jwks: { keys: keys.map(({ publicJwk }) => publicJwk) } }
    copy?.write(kept).catch((error: unknown) => {
      const name = 'copy'
      if (warned.has(name)) return
      warned.add(name)
      logger.warn(
        { event: 'issuer_keys_copy_failed', issuer, err: error },
        'cannot write the key cache: a restart while the issuer is unavailable finds no keys',
      )
    })
  }

  async function readCopy(): Promise<void> {
    const kept = await copy?.read()
    if (kept === undefined || set !== undefined) return
    const keys = readJwks(kept.jwks, options.algorithms)
    const ageMs = clock.nowMs() - kept.fetchedAtMs
    if (keys === undefined || ageMs > options.maxStaleMs) return
    take(keys, ageMs)
    logger.warn(
      { event: 'issuer_keys_from_copy', issuer, age_seconds: Math.round(ageMs / 1_000) },
      'the issuer is unavailable: its keys come from the key cache',
    )
  }

  /** Logs that the issuer does not have a key, at most once a minute. */
  function logUnknownKid(keyId: string | undefined): void {
    unknownKids += 1
    if (clock.tickMs() - unknownKidLoggedTick < UNKNOWN_KID_LOG_MS) return
    unknownKidLoggedTick = clock.tickMs()
    const kid = keyId === undefined ? undefined : visibleText(keyId.slice(0, LOGGED_KID_CHARACTERS))
    logger.warn(
      { event: 'issuer_key_unknown', issuer, kid, count: unknownKids },
      'the gateway rejects tokens: the issuer does not publish the key of these tokens',
    )
    unknownKids = 0
  }

  function cannotSay(
    code: 'ERR_ISSUER_KEYS_UNAVAILABLE' | 'ERR_ISSUER_KEYS_UNCONFIRMED',
    why: string,
  ): IssuerKeysError {
    return new IssuerKeysError(code, why, { retryAfterMs: Math.max(0, nextFetchTick - clock.tickMs()) })
  }

  async function askFor(keyId: string | undefined, algorithm: string): Promise<VerificationKey | undefined> {
    const find = (): VerificationKey | undefined => {
      const key = findKey(current()?.keys ?? [], { keyId, algorithm })
      return typeof key === 'string' ? undefined : key
    }
    /**
     * Returns the key, or undefined. Only a successful fetch shows that the issuer does not have the key. If the last
     * fetch failed, this function throws.
     */
    const found = (): VerificationKey | undefined => {
      const key = find()
      if (key === undefined && failures > 0)
        throw cannotSay('ERR_ISSUER_KEYS_UNCONFIRMED', `Newer keys of ${issuer} cannot be fetched.`)
      if (key === undefined) logUnknownKid(keyId)
      return key
    }
    for (let underWay = flight; underWay !== undefined; underWay = flight) {
      const isOwn = clock.tickMs() < coolUntilTick
      await underWay
      const key = find()
      // A fetch for another unknown `kid` also shows whether this `kid` exists, so the result of this fetch is final.
      // Any other fetch may have begun before the issuer published the key. The loop then awaits the next fetch, if
      // another caller has started a fetch.
      if (key !== undefined || isOwn) return found()
    }
    // While the issuer is unavailable, the background retries are frequent enough, so an unknown `kid` causes no fetch.
    if (failures > 0 || clock.tickMs() < coolUntilTick) return found()
    coolUntilTick = clock.tickMs() + options.cooldownMs
    await refresh()
    return found()
  }

  return {
    get ready() {
      return ready
    },
    get confirmedAtMs() {
      return confirmedAtMs
    },
    get size() {
      return current()?.keys.length ?? 0
    },
    get current() {
      return current()?.keys ?? []
    },
    get unavailableReason() {
      if (failures === 0) return undefined
      const since =
        confirmedAtMs === undefined ? 'never fetched' : `not fetched since ${toIsoTime(confirmedAtMs)}`
      return `${since}: ${lastFailure instanceof Error ? lastFailure.message : 'unknown'}`
    },
    async start() {
      await refresh()
      if (set === undefined) await readCopy()
    },
    lookUp(keyId, algorithm) {
      const keys = current()
      if (keys === undefined)
        return Promise.reject(cannotSay('ERR_ISSUER_KEYS_UNAVAILABLE', `No keys of ${issuer} are available.`))
      const key = findKey(keys.keys, { keyId, algorithm })
      if (key === 'unfit') return undefined
      return key === 'unknown' ? askFor(keyId, algorithm) : key
    },
    close() {
      closed = true
      cancelNext()
    },
  }
}

function toIsoTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
