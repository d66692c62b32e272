import { LRUCache } from 'lru-cache'
import type { Revocation } from '../../../oauth/revocation.ts'
import { layoutOf, ONE_SLOT } from '../../../platform/redis/key-layout.ts'
import type { RedisClient } from '../../../platform/redis/redis-client.ts'
import { revokedKey } from '../../../platform/redis/revocation-keys.ts'
import { revocationName } from '../../../platform/revocation-name.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'

/**
 * The revocations that have not expired. A revocation overrides every token status. The status may be older than the
 * revocation, or may not reflect the revocation.
 */
export type RevokedTokens = {
  readonly size: number
  /** @param channelIssuer sender of the message, for a revocation that names no issuer. */
  add(revocation: Revocation, channelIssuer: string | undefined, nowSeconds: number): void
  /** Returns whether the caller's grant, token, or subject is revoked. Cost: at most three lookups. */
  has(caller: Caller): boolean
}

/**
 * A revocation entry, with times in seconds since the epoch. The entry expires at `untilSeconds`. The entry of a
 * subject revokes tokens issued up to `atSeconds`.
 */
type RevocationEntry = {
  readonly issuer: string
  readonly untilSeconds: number
  readonly atSeconds: number
  /** The entry of another issuer for the same name. An issuer cannot change the entry of another issuer. */
  readonly next: RevocationEntry | undefined
}

type RevocationEntries = LRUCache<string, RevocationEntry>

/** Lifetime of an entry whose revocation has no expiry. Access tokens should live less than one day. Seconds. */
const DEFAULT_LIFETIME_SECONDS = 86_400
/** Maximum number of entries of each kind, which take about 30 MiB. */
const MAX_ENTRIES = 100_000
/** Maximum number of issuers with the same name in a revocation. A larger number is not realistic. */
const MAX_ISSUERS_PER_NAME = 8
/**
 * Additional lifetime of an entry. Covers the clock skew between issuers and gateways, and the clock tolerance for
 * tokens. Seconds.
 */
const MARGIN_SECONDS = 120

/**
 * Creates a store that keeps revocations until the tokens would have expired. The revocation of a grant or a token is
 * final. After a revocation, a subject can sign in again and gets new, valid tokens. An issuer can revoke only its own
 * tokens.
 * @param options.onEvicted called when the store is full and evicts an entry that has not expired. The caller must then
 * drop the cached token statuses.
 */
export function createRevokedTokens(options: {
  readonly onEvicted: () => void
  readonly maxEntries?: number
}): RevokedTokens {
  let latestSeconds = 0
  const createEntries = (): RevocationEntries =>
    new LRUCache({
      max: options.maxEntries ?? MAX_ENTRIES,
      dispose: (entry, _name, why) => {
        if (why === 'evict' && chainOf(entry).some(({ untilSeconds }) => untilSeconds > latestSeconds))
          options.onEvicted()
      },
    })
  // The first use creates a cache. The allocation takes 10 ms and must not delay the start.
  let grants: RevocationEntries | undefined
  let tokens: RevocationEntries | undefined
  let subjects: RevocationEntries | undefined

  return {
    get size() {
      return (grants?.size ?? 0) + (tokens?.size ?? 0) + (subjects?.size ?? 0)
    },
    add(revocation, channelIssuer, nowSeconds) {
      latestSeconds = nowSeconds
      const entry = {
        issuer: revocation.issuer ?? channelIssuer ?? '',
        untilSeconds: (revocation.expiresAtSeconds ?? nowSeconds + DEFAULT_LIFETIME_SECONDS) + MARGIN_SECONDS,
        atSeconds: revocation.atSeconds ?? nowSeconds,
      }
      if (entry.untilSeconds <= nowSeconds) return
      const { grant, token, subject } = revocation
      if (grant !== undefined) {
        grants ??= createEntries()
        put(grants, grant, entry)
      }
      if (token !== undefined) {
        tokens ??= createEntries()
        put(tokens, token, entry)
      }
      if (subject !== undefined) {
        subjects ??= createEntries()
        put(subjects, subject, entry)
      }
    },
    has({ issuer, grant, tokenId, subject, issuedAtSeconds }) {
      if (grant !== undefined && entryBy(issuer, grants?.peek(grant)) !== undefined) return true
      if (tokenId !== undefined && entryBy(issuer, tokens?.peek(tokenId)) !== undefined) return true
      if (subjects === undefined || subject === undefined) return false
      const entry = entryBy(issuer, subjects.peek(revocationName(issuer, subject)))
      return entry !== undefined && (issuedAtSeconds === undefined || issuedAtSeconds <= entry.atSeconds)
    },
  }
}

function put(entries: RevocationEntries, name: string, entry: Omit<RevocationEntry, 'next'>): void {
  const known = chainOf(entries.peek(name))
  const before = known.find(({ issuer }) => issuer === entry.issuer)
  const others = known.filter((one) => one !== before)
  const next = others
    .slice(0, MAX_ISSUERS_PER_NAME - 1)
    .reduceRight<RevocationEntry | undefined>((rest, other) => ({ ...other, next: rest }), undefined)
  // Revocations may arrive in any order, and repeatedly. A later revocation never weakens an earlier revocation.
  entries.set(name, {
    issuer: entry.issuer,
    untilSeconds: Math.max(entry.untilSeconds, before?.untilSeconds ?? 0),
    atSeconds: Math.max(entry.atSeconds, before?.atSeconds ?? 0),
    next,
  })
}

function entryBy(issuer: string, first: RevocationEntry | undefined): RevocationEntry | undefined {
  let entry = first
  while (entry !== undefined && entry.issuer !== issuer) entry = entry.next
  return entry
}

function chainOf(first: RevocationEntry | undefined): readonly RevocationEntry[] {
  const chain: RevocationEntry[] = []
  for (let entry = first; entry !== undefined; entry = entry.next) chain.push(entry)
  return chain
}

/**
 * Returns whether Redis holds a revocation mark of the token. The check is for results from the shared cache, because
 * this process may not have received the revocation. One step writes the revocation and its mark. Cost: one round trip.
 */
export async function isMarkedRevoked(redis: RedisClient, caller: Caller): Promise<boolean> {
  const { issuer, grant, tokenId, subject, issuedAtSeconds } = caller
  const layout = layoutOf(redis)
  const names = [
    ['grant', grant ?? '-'],
    ['token', tokenId ?? '-'],
    ['subject', subject === undefined ? '-' : revocationName(issuer, subject)],
  ] as const
  const keys = names.map(([kind, name]) => revokedKey(kind, name, layout.tagOf(name)))
  // In a Redis Cluster, the marks are in several partitions, so each mark needs its own command.
  const [ofGrant, ofToken, ofSubject] =
    layout === ONE_SLOT ? await redis.mget(keys) : await Promise.all(keys.map((key) => redis.get(key)))
  if (typeof ofGrant === 'string' || typeof ofToken === 'string') return true
  return typeof ofSubject === 'string' && !(Number(issuedAtSeconds ?? 0) > Number(ofSubject))
}
