import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { TokenFault } from '../../../policy-engine/decide/refusal.ts'

/** What an issuer's answer means for a token, whatever the route. Claims, never a decision. */
export type TokenStatus =
  | { readonly active: true; readonly caller: Caller }
  | { readonly active: false; readonly fault: TokenFault }
