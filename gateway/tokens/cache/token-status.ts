import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { TokenFault } from '../../../policy-engine/decide/refusal.ts'

/** The status of a token, whatever the route. It holds claims, never a decision. */
export type TokenStatus =
  | { readonly active: true; readonly caller: Caller }
  | { readonly active: false; readonly fault: TokenFault }
