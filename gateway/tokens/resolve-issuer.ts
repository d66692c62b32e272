import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import type { IntrospectionResult } from './cache/introspection-result.ts'
import type { TokenStatus } from './cache/token-status.ts'
import type { Issuer } from './issuer.ts'
import { readCompactJwt } from './jwt/read-compact-jwt.ts'

/** How a token is checked: a verdict that needs nobody, or whom to ask. */
export type TokenCheck =
  | { readonly kind: 'known'; readonly verdict: TokenStatus }
  /** By its signature. */
  | { readonly kind: 'jwt'; ask(sinceClearMs: number, names: ClaimNames): Promise<IntrospectionResult> }
  /** At the issuer. */
  | { readonly kind: 'opaque'; ask(sinceClearMs: number, names: ClaimNames): Promise<IntrospectionResult> }

const MALFORMED: TokenCheck = { kind: 'known', verdict: { active: false, fault: { reason: 'malformed' } } }
const NOBODYS: TokenCheck = { kind: 'known', verdict: { active: false, fault: { reason: 'wrong_issuer' } } }

/**
 * Chooses who can say whether a token is good. A JWT concerns the issuer that it names, exactly, and nobody else: no `kid` and
 * no key is looked at before. An opaque token names nobody: the issuers that answer questions are asked in their order.
 */
export function resolveIssuer(token: string, issuers: readonly Issuer[]): TokenCheck {
  const jwt = readCompactJwt(token)
  if (jwt === 'malformed') return MALFORMED
  if (jwt === 'opaque') {
    const asked = issuers.flatMap(({ introspect }) => (introspect === undefined ? [] : [introspect]))
    return asked.length === 0 ? NOBODYS : { kind: 'opaque', ask: (...how) => askInTurn(token, how, asked) }
  }
  const issuer = issuers.find((one) => one.issuer === jwt.issuer)
  if (issuer === undefined) return NOBODYS
  const { verify, introspect } = issuer
  if (verify !== undefined)
    return {
      kind: 'jwt',
      ask: async (_, names) => ({ verdict: await verify(jwt, names), ageMs: 0, ttlMs: Infinity }),
    }
  return introspect === undefined ? NOBODYS : { kind: 'opaque', ask: (...how) => introspect(token, ...how) }
}

/** The first issuer that knows the token; a failure counts only when no other one does. */
async function askInTurn(
  token: string,
  how: readonly [sinceClearMs: number, names: ClaimNames],
  asked: readonly NonNullable<Issuer['introspect']>[],
): Promise<IntrospectionResult> {
  let failure: unknown
  let last: IntrospectionResult | undefined
  for (const introspect of asked) {
    try {
      const answer = await introspect(token, ...how)
      if (answer.verdict.active) return answer
      // `inactive` says that this issuer does not know it; any other fault says more.
      if (last === undefined || isUnknown(last.verdict)) last = answer
    } catch (error) {
      failure ??= error
    }
  }
  if (failure !== undefined || last === undefined) throw failure
  return last
}

function isUnknown(verdict: TokenStatus): boolean {
  return !verdict.active && verdict.fault.reason === 'inactive'
}
