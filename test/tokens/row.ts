import type { TokenFault } from '../../policy-engine/decide/rejection.ts'
import type { World } from './world.ts'

/** Expected result of a row: the fault of the token, or a status. */
export type RowAnswer = Exclude<TokenFault['reason'], 'expired'> | 'expired' | 'any_401' | 400 | 403 | 431

/** An invalid token, or an invalid request with a valid token. */
export type Row = {
  /** Number of the class in SECURITY.md. */
  readonly class: number
  readonly what: string
  readonly answer: RowAnswer
  /** Returns the token. With `send`, returns the argument of `send`. */
  readonly token: (world: World) => string
  /** Returns the request target and the header lines. Default: a GET with the token as a Bearer token. */
  readonly send?: (token: string) => { readonly target?: string; readonly headers: readonly string[] }
}

export function row(
  ofClass: number,
  what: string,
  answer: RowAnswer,
  token: Row['token'],
  send?: Row['send'],
): Row {
  return { class: ofClass, what, answer, token, ...(send === undefined ? {} : { send }) }
}
