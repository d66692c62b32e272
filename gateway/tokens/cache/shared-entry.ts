import { type NamedClaims, NO_CLAIMS, toClaimValue } from '../../../policy-engine/decide/named-claims.ts'
import { parseJsonObject } from '../jwt/parse-json-object.ts'

/** What gateways tell each other about a token: the claims as the issuer gave them, and how old they are. */
export type SharedEntry = {
  /** When the issuer was asked, on the wall clock of the gateway that did. Milliseconds since the epoch. */
  readonly askedAtMs: number
  /** It may be used for so long from then on. Milliseconds. */
  readonly lifetimeMs: number
  /** The introspection response, as far as the gateway reads it. */
  readonly response: Readonly<Record<string, unknown>>
  /** The claims that policies name where it was asked. Others may name other ones. */
  readonly claims: NamedClaims
}

export function writeSharedEntry(answer: SharedEntry): string {
  // What was looked for and not found is null.
  const claims = Array.from(answer.claims, ([name, value]) => [name, value ?? null])
  return JSON.stringify({ ...answer, claims: Object.fromEntries(claims) })
}

/** @returns undefined when the text is none, whoever wrote it. */
export function readSharedEntry(text: string): SharedEntry | undefined {
  const members = parseJsonObject(text)
  if (members === undefined) return undefined
  const askedAtMs = members.get('askedAtMs')
  const lifetimeMs = members.get('lifetimeMs')
  const response = members.get('response')
  if (typeof askedAtMs !== 'number' || typeof lifetimeMs !== 'number') return undefined
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return undefined
  const claims = Object.entries(members.get('claims') ?? {}).map(
    ([name, value]) => [name, toClaimValue(value)] as const,
  )
  return {
    askedAtMs,
    lifetimeMs,
    response: Object.fromEntries(Object.entries(response)),
    claims: claims.length === 0 ? NO_CLAIMS : new Map(claims),
  }
}

/** How old an answer is, by the clock that makes it older: Redis' own, or that of the wall. */
export function ageOf(
  answer: Pick<SharedEntry, 'askedAtMs' | 'lifetimeMs'>,
  { nowMs, remainingMs }: { readonly nowMs: number; readonly remainingMs: number },
): number {
  return Math.max(nowMs - answer.askedAtMs, answer.lifetimeMs - remainingMs, 0)
}
