import type { Answer } from './answer.ts'
import type { Issuer } from './issuer.ts'
import { readCompactJwt } from './jwt/read-compact-jwt.ts'
import type { Verdict } from './verdict.ts'

/** How a token is checked: a verdict that needs nobody, or whom to ask. */
export type TokenCheck =
  | { readonly kind: 'known'; readonly verdict: Verdict }
  /** By its signature. */
  | { readonly kind: 'jwt'; ask(): Promise<Answer> }
  /** At the issuer. */
  | { readonly kind: 'opaque'; ask(sinceClearMs: number): Promise<Answer> }

const MALFORMED: TokenCheck = { kind: 'known', verdict: { active: false, fault: { reason: 'malformed' } } }
const NOBODYS: TokenCheck = { kind: 'known', verdict: { active: false, fault: { reason: 'wrong_issuer' } } }

/**
 * Chooses who can say whether a token is good. A JWT concerns the issuer that it names, exactly, and nobody else: no `kid` and
 * no key is looked at before. An opaque token names nobody: the issuers that answer questions are asked in their order.
 */
export function chooseIssuer(token: string, issuers: readonly Issuer[]): TokenCheck {
  const jwt = readCompactJwt(token)
  if (jwt === 'malformed') return MALFORMED
  if (jwt === 'opaque') {
    const asked = issuers.flatMap(({ introspect }) => (introspect === undefined ? [] : [introspect]))
    return asked.length === 0
      ? NOBODYS
      : { kind: 'opaque', ask: (sinceClearMs) => askInTurn(token, sinceClearMs, asked) }
  }
  const issuer = issuers.find((one) => one.issuer === jwt.issuer)
  if (issuer === undefined) return NOBODYS
  const { verify, introspect } = issuer
  if (verify !== undefined)
    return { kind: 'jwt', ask: async () => ({ verdict: await verify(jwt), ageMs: 0, ttlMs: Infinity }) }
  return introspect === undefined
    ? NOBODYS
    : { kind: 'opaque', ask: (sinceClearMs) => introspect(token, sinceClearMs) }
}

/** The first issuer that knows the token; a failure counts only when no other one does. */
async function askInTurn(
  token: string,
  sinceClearMs: number,
  asked: readonly ((token: string, sinceClearMs: number) => Promise<Answer>)[],
): Promise<Answer> {
  let failure: unknown
  let last: Answer | undefined
  for (const introspect of asked) {
    try {
      const answer = await introspect(token, sinceClearMs)
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

function isUnknown(verdict: Verdict): boolean {
  return !verdict.active && verdict.fault.reason === 'inactive'
}
