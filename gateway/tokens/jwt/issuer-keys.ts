import { describeFailure, type Logger } from '../../../platform/logging/logger.ts'
import { findKey } from './find-key.ts'
import type { DropReason, IssuerKey } from './issuer-key.ts'
import { IssuerKeysError } from './issuer-keys-error.ts'
import type { JwksFileCache } from './jwks-file-cache.ts'
import type { LoadKeys } from './key-source.ts'
import { type KeySet, readJwks } from './read-jwks.ts'

/** Counts what happens to the keys of one issuer. */
export type IssuerKeysMeter = {
  refreshed(result: 'ok' | 'error'): void
  dropped(reason: DropReason): void
}

/** Time, and what happens later: a test moves both by hand. */
export type Clock = {
  /** Monotonic. Milliseconds. */
  tickMs(): number
  /** Milliseconds since the epoch. */
  nowMs(): number
  /** Calls back once; what it returns calls that off. */
  after(delayMs: number, call: () => void): () => void
}

export type IssuerKeysOptions = {
  readonly issuer: string
  readonly algorithms: ReadonlySet<string>
  readonly load: LoadKeys
  /** undefined: a gateway that starts while the issuer is away knows no keys. */
  readonly copy: JwksFileCache | undefined
  /** Keys are fetched anew within this. Milliseconds. */
  readonly refreshMs: number
  /** After a `kid` that the issuer did not know either, no other is asked about for this long. Milliseconds. */
  readonly cooldownMs: number
  /** Keys that the issuer has not confirmed for this long are not used. Milliseconds. */
  readonly maxStaleMs: number
  readonly clock: Clock
  /** 0 to below 1; spreads the fetches of many gateways. */
  readonly random: () => number
  readonly meter: IssuerKeysMeter
  readonly logger: Logger
}

/** The keys of one issuer, at hand. */
export type IssuerKeys = {
  /** Whether there ever were keys: from the issuer, or from the copy. */
  readonly ready: boolean
  /** When the issuer last gave them. Milliseconds since the epoch; undefined: never. */
  readonly confirmedAtMs: number | undefined
  /** Keys that are used now. */
  readonly size: number
  /** Why the last fetch failed; undefined after a fetch that succeeded. */
  readonly trouble: string | undefined
  /** The first fetch; the copy when it fails. Never throws: what fails is tried again in the background. */
  start(): Promise<void>
  /**
   * The key that a token names, at once when it is known; undefined when the issuer does not have it.
   * @throws {IssuerKeysError} by the promise: there are no keys, or the last fetch failed and the key may be new.
   */
  lookUp(keyId: string | undefined, algorithm: string): IssuerKey | undefined | Promise<IssuerKey | undefined>
  close(): void
}

/** Whatever the load, the issuer is asked no more often. Milliseconds. */
const SHORTEST_INTERVAL_MS = 1_000
const LONGEST_RETRY_MS = 30_000
/** Without any keys every token waits for them. Milliseconds. */
const LONGEST_RETRY_WITHOUT_KEYS_MS = 5_000
/** What was warned about is remembered; a hostile issuer cannot fill the memory with names. */
const MAX_WARNED = 1_000

/**
 * Keeps the keys of one issuer: fetched before they are needed, refreshed in the background, one fetch at a time, the last
 * ones kept while the issuer is away.
 */
export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { issuer, clock, copy, meter, logger } = options
  let set: KeySet | undefined
  let ready = false
  let confirmedAtMs: number | undefined
  /** On the monotonic clock, when the set in use was confirmed. */
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

  function take(loaded: KeySet, ageMs: number): void {
    // A kid that was not there before: the issuer has rotated its keys.
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
      logger.warn({ event: 'issuer_key_dropped', issuer, kid, reason }, 'a key of the issuer is not used')
    }
  }

  /** The keys that may be used now. */
  function current(): KeySet | undefined {
    if (set !== undefined && clock.tickMs() - confirmedTick > options.maxStaleMs) {
      set = undefined
      logger.error({ event: 'issuer_keys_too_old', issuer }, 'the issuer was away for too long')
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
      // One line for the first failure and for every tenth: an outage may last all night.
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
        'a restart while the issuer is away will find no keys',
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
      'the issuer is away: its keys come from the copy',
    )
  }

  function cannotSay(
    code: 'ERR_ISSUER_KEYS_UNAVAILABLE' | 'ERR_ISSUER_KEYS_UNCONFIRMED',
    why: string,
  ): IssuerKeysError {
    return new IssuerKeysError(code, why, { retryAfterMs: Math.max(0, nextFetchTick - clock.tickMs()) })
  }

  async function askFor(keyId: string | undefined, algorithm: string): Promise<IssuerKey | undefined> {
    const find = (): IssuerKey | undefined => {
      const key = findKey(current()?.keys ?? [], { keyId, algorithm })
      return typeof key === 'string' ? undefined : key
    }
    /** Only keys that the issuer gave at the last try tell that it does not have another one. */
    const found = (): IssuerKey | undefined => {
      const key = find()
      if (key === undefined && failures > 0)
        throw cannotSay('ERR_ISSUER_KEYS_UNCONFIRMED', `Newer keys of ${issuer} cannot be had.`)
      return key
    }
    for (let underWay = flight; underWay !== undefined; underWay = flight) {
      const isOwn = clock.tickMs() < coolUntilTick
      await underWay
      const key = find()
      // A fetch for an unknown kid has answered for this one too; else somebody who waited as well may have begun one.
      if (key !== undefined || isOwn) return found()
    }
    // An issuer that is away is being asked again as often as is good for it.
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
    get trouble() {
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
        return Promise.reject(cannotSay('ERR_ISSUER_KEYS_UNAVAILABLE', `There are no keys of ${issuer}.`))
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
