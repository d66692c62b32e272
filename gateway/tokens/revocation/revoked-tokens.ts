import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Revocation } from '../../../oauth/revocation.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'

/** Which tokens were taken back: whatever else says that they are good is older, or does not know. */
export type RevokedTokens = {
  readonly size: number
  /** @param channelIssuer whom the message is from, where it names no issuer itself. */
  add(revocation: Revocation, channelIssuer: string | undefined, nowSeconds: number): void
  /** Whether the caller's grant, token, or subject was taken back. Cost: at most three look-ups. */
  has(caller: Caller): boolean
}

/** Seconds since the epoch: until when it matters, and up to when a subject's tokens are no longer good. */
type Ban = {
  readonly issuer: string
  readonly untilSeconds: number
  readonly atSeconds: number
  /** What another issuer took back under the same name: nobody lifts the ban of somebody else. */
  readonly next: Ban | undefined
}

type Bans = LRUCache<string, Ban>

/** A revocation that does not say how long it matters is kept for a day: longer than access tokens should live. */
const BAN_SECONDS = 86_400
/** Some 30 MiB of each kind. */
const MAX_BANS = 100_000
/** More issuers that use one name for different things are made up. */
const MOST_OF_A_NAME = 8
/** The clocks of issuers and gateways, and the tolerance that is given to tokens, are within this. Seconds. */
const MARGIN_SECONDS = 120

/**
 * Remembers revocations until the tokens would have expired. A grant or a token never comes back; a subject gets new
 * tokens when it signs in again, and those are good. An issuer takes back only what is its own.
 * @param options.onForgotten told when one that still matters went because there were too many: what is cached must go.
 */
export function createRevokedTokens(options: {
  readonly onForgotten: () => void
  readonly maxBans?: number
}): RevokedTokens {
  let latestSeconds = 0
  const bans = (): Bans =>
    new LRUCache({
      max: options.maxBans ?? MAX_BANS,
      dispose: (ban, _name, why) => {
        if (why === 'evict' && chainOf(ban).some(({ untilSeconds }) => untilSeconds > latestSeconds))
          options.onForgotten()
      },
    })
  // Each is made when it is needed: room for so many takes 10 ms, for which nobody waits at the start.
  let grants: Bans | undefined
  let tokens: Bans | undefined
  let subjects: Bans | undefined

  return {
    get size() {
      return (grants?.size ?? 0) + (tokens?.size ?? 0) + (subjects?.size ?? 0)
    },
    add(revocation, channelIssuer, nowSeconds) {
      latestSeconds = nowSeconds
      const ban = {
        issuer: revocation.issuer ?? channelIssuer ?? '',
        untilSeconds: (revocation.expiresAtSeconds ?? nowSeconds + BAN_SECONDS) + MARGIN_SECONDS,
        atSeconds: revocation.atSeconds ?? nowSeconds,
      }
      if (ban.untilSeconds <= nowSeconds) return
      const { grant, token, subject } = revocation
      if (grant !== undefined) {
        grants ??= bans()
        put(grants, grant, ban)
      }
      if (token !== undefined) {
        tokens ??= bans()
        put(tokens, token, ban)
      }
      if (subject !== undefined) {
        subjects ??= bans()
        put(subjects, subject, ban)
      }
    },
    has({ issuer, grant, tokenId, subject, issuedAtSeconds }) {
      if (grant !== undefined && banBy(issuer, grants?.peek(grant)) !== undefined) return true
      if (tokenId !== undefined && banBy(issuer, tokens?.peek(tokenId)) !== undefined) return true
      if (subjects === undefined || subject === undefined) return false
      const ban = banBy(issuer, subjects.peek(subjectName(issuer, subject)))
      return ban !== undefined && (issuedAtSeconds === undefined || issuedAtSeconds <= ban.atSeconds)
    },
  }
}

/** The name under which a subject stands in a revocation. */
export function subjectName(issuer: string, subject: string): string {
  return hash('sha256', `${issuer}\n${subject}`, 'base64url')
}

function put(bans: Bans, name: string, ban: Omit<Ban, 'next'>): void {
  const known = chainOf(bans.peek(name))
  const before = known.find(({ issuer }) => issuer === ban.issuer)
  const others = known.filter((one) => one !== before)
  const next = others
    .slice(0, MOST_OF_A_NAME - 1)
    .reduceRight<Ban | undefined>((rest, other) => ({ ...other, next: rest }), undefined)
  // They may come in any order, and again: none takes back what another one says.
  bans.set(name, {
    issuer: ban.issuer,
    untilSeconds: Math.max(ban.untilSeconds, before?.untilSeconds ?? 0),
    atSeconds: Math.max(ban.atSeconds, before?.atSeconds ?? 0),
    next,
  })
}

function banBy(issuer: string, first: Ban | undefined): Ban | undefined {
  let ban = first
  while (ban !== undefined && ban.issuer !== issuer) ban = ban.next
  return ban
}

function chainOf(first: Ban | undefined): readonly Ban[] {
  const chain: Ban[] = []
  for (let ban = first; ban !== undefined; ban = ban.next) chain.push(ban)
  return chain
}
