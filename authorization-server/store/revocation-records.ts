import { hash } from 'node:crypto'
import { type Revocation, writeRevocation } from '../../oauth/revocation.ts'

/** Whose tokens they are, and how long they are good. */
export type RevocationContext = {
  readonly issuer: string
  /** An access token is good for so long: after that a revocation matters to nobody. Seconds. */
  readonly accessTokenSeconds: number
}

/** Clocks differ, and a verdict that was asked for just before is used for a while. Seconds. */
const MARGIN_SECONDS = 300

/** How long a revocation is kept. Seconds. */
export function keepSeconds({ accessTokenSeconds }: RevocationContext): number {
  return accessTokenSeconds + MARGIN_SECONDS
}

/** What is written when a grant ends. `grant` is the hash of its id. */
export function grantRevocation(grant: string, context: RevocationContext, nowSeconds: number): string {
  return writeRevocation({ ...withoutNames(context, nowSeconds), grant })
}

/**
 * What is written when an account goes with everything it holds. Its id never comes back, and another process, whose clock is
 * ahead, may have dated a token of it later.
 */
export function accountRevocation(accountId: string, context: RevocationContext, nowSeconds: number): string {
  return writeRevocation({
    ...withoutNames(context, nowSeconds),
    subject: accountName(accountId, context),
    atSeconds: nowSeconds + MARGIN_SECONDS,
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
