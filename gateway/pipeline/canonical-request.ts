import type { CanonicalTarget } from '../../policy-engine/match/canonical-target.ts'
import type { CleanHeaders } from './clean-headers.ts'

/** The request that every later stage sees. */
export type CanonicalRequest = CanonicalTarget & { readonly headers: CleanHeaders }
