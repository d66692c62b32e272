import { hash } from 'node:crypto'
import { type Revocation, writeRevocation } from '../../oauth/revocation.ts'

/** Whose tokens they are, and how long they are good. */
export type RevocationContext = {
  readonly issuer: string
  /** Lifetime of access tokens: after it a revocation has no effect. Seconds. */
  readonly accessTokenSeconds: number
}

/** Clocks differ, and a verdict that was asked for just before is used for a while. Seconds. */
const MARGIN_SECONDS = 300

/** How long a revocation is kept. Seconds. */
export function keepSeconds({ accessTokenSeconds }: RevocationContext): number {
  return accessTokenSeconds + MARGIN_SECONDS
}

/** The log entry of a grant that ended. `grant` is the hash of its id. */
export function grantRevocation(grant: string, context: RevocationContext, nowSeconds: number): string {
  return writeRevocation({ ...withoutNames(context, nowSeconds), grant })
}

/**
 * The second up to which the tokens of a removed account are revoked: the last one of the year 9999. An account id is never
 * used again, and a token's `iat` depends on the clock of the server that issued it.
 */
export const REMOVED_ACCOUNT_AT_SECONDS = 253_402_300_799

/** The log entry of an account that was removed with its sessions, grants and tokens. */
export function accountRevocation(accountId: string, context: RevocationContext, nowSeconds: number): string {
  return writeRevocation({
    ...withoutNames(context, nowSeconds),
    subject: accountName(accountId, context),
    atSeconds: REMOVED_ACCOUNT_AT_SECONDS,
  })
}

/** The name under which gateways know the subject that an account is in tokens. */
export function accountName(accountId: string, { issuer }: RevocationContext): string {
  return hash('sha256', `${issuer}\n${accountId}`, 'base64url')
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
