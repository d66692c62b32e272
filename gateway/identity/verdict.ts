import type { TokenFault } from '../refusal.ts'
import type { Caller } from './caller.ts'

/** What an issuer's answer means for a token, whatever the route. Claims, never a decision. */
export type Verdict =
  | { readonly active: true; readonly caller: Caller }
  | { readonly active: false; readonly fault: TokenFault }
