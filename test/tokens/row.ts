import type { TokenFault } from '../../policy-engine/decide/refusal.ts'
import type { World } from './world.ts'

/** The answer that a row must get: why the token is invalid, or a status. */
export type RowAnswer = Exclude<TokenFault['reason'], 'expired'> | 'expired' | 'any_401' | 400 | 403 | 431

/** One bad token, or one bad way to send a good one. */
export type Row = {
  /** Number of the class in docs/security.md. */
  readonly class: number
  readonly what: string
  readonly answer: RowAnswer
  /** The token; or, with `send`, whatever that function needs. */
  readonly token: (world: World) => string
  /** Request target and header lines; without it, a GET with the token as a Bearer token. */
  readonly send?: (token: string) => { readonly target?: string; readonly headers: readonly string[] }
}

/** A row of a class. */
export function row(
  ofClass: number,
  what: string,
  answer: RowAnswer,
  token: Row['token'],
  send?: Row['send'],
): Row {
  return { class: ofClass, what, answer, token, ...(send === undefined ? {} : { send }) }
}
