import type { CanonicalTarget } from '../../policy-engine/match/canonical-target.ts'
import type { CleanHeaders } from '../../policy-engine/match/clean-headers.ts'

/** A request after stage 1: canonical path, query and clean headers. */
export type CanonicalRequest = CanonicalTarget & { readonly headers: CleanHeaders }
