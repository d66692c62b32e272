import { type Revocation, writeRevocation } from '../../oauth/revocation.ts'
import { createBoundedCache } from '../../platform/bounded-cache.ts'
import { revocationName } from '../../platform/revocation-name.ts'

/**
 * The issuer of the tokens, and the lifetime of the tokens. The lifetime can change, so read the lifetime for each
 * revocation.
 */
export type RevocationContext = {
  readonly issuer: string
  /** Longest lifetime of access tokens that can be valid. After this time, a revocation has no effect. Seconds. */
  readonly accessTokenSeconds: number
}

/** Margin for clock differences, and for token statuses that gateways cached just before the revocation. Seconds. */
export const MARGIN_SECONDS = 300

export function keepSeconds({ accessTokenSeconds }: RevocationContext): number {
  return accessTokenSeconds + MARGIN_SECONDS
}

/** Returns the log entry of a revoked grant. `grant` is the hash of the grant id. */
export function grantRevocation(grant: string, context: RevocationContext, nowSeconds: number): string {
  return writeRevocation({ ...withoutNames(context, nowSeconds), grant })
}

/**
 * Time up to which the tokens of a removed account are revoked: the last second of the year 9999.
 * This is safe, because account ids are never reused. The current time would not be safe, because the `iat` of a token
 * depends on the clock of the issuing server.
 */
export const REMOVED_ACCOUNT_AT_SECONDS = 253_402_300_799

export function accountRevocation(accountId: string, context: RevocationContext, nowSeconds: number): string {
  return writeRevocation({
    ...withoutNames(context, nowSeconds),
    subject: revocationName(context.issuer, accountId),
    atSeconds: REMOVED_ACCOUNT_AT_SECONDS,
  })
}

/**
 * Time after the disabling of an account up to which its tokens are revoked, because the clock of the issuing server
 * may be ahead. If an operator enables the account within this time, tokens from this time are also revoked. Seconds.
 */
const DISABLED_MARGIN_SECONDS = 60

/** Returns the time up to which the tokens of an account are revoked if an operator disables the account now. */
export function disabledUpToSeconds(nowSeconds: number): number {
  return nowSeconds + DISABLED_MARGIN_SECONDS
}

export function disabledRevocation(
  accountId: string,
  context: RevocationContext,
  nowSeconds: number,
): string {
  return writeRevocation({
    ...withoutNames(context, nowSeconds),
    subject: revocationName(context.issuer, accountId),
    atSeconds: disabledUpToSeconds(nowSeconds),
  })
}

function withoutNames(context: RevocationContext, nowSeconds: number): Revocation {
  return {
    issuer: context.issuer,
    grant: undefined,
    token: undefined,
    subject: undefined,
    atSeconds: nowSeconds,
    expiresAtSeconds: nowSeconds + context.accessTokenSeconds,
  }
}

/** Recently revoked grants, by the hash of their ids. */
export type RevokedGrantCache = {
  add(grantHash: string): void
  all(): readonly string[]
}

/** The cache needs about 15 MiB for this number of grants. */
const MAX_GRANTS = 100_000

/**
 * Creates a cache of at most {@link MAX_GRANTS} revoked grants. The cache keeps a grant for as long as access tokens of
 * the grant can be valid, plus {@link MARGIN_SECONDS}.
 */
export function createRevokedGrantCache(
  options: RevocationContext & { readonly nowSeconds: () => number },
): RevokedGrantCache {
  const untilSeconds = createBoundedCache<number>(MAX_GRANTS)
  return {
    add(grantHash) {
      untilSeconds.set(grantHash, options.nowSeconds() + keepSeconds(options))
    },
    all: () =>
      [...untilSeconds.entries()].flatMap(([grant, until]) => (until > options.nowSeconds() ? [grant] : [])),
  }
}
