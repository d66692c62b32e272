import type { CanonicalTarget } from '../routes/canonical-target.ts'
import type { CleanHeaders } from './clean-headers.ts'

/** The request that every later stage sees. */
export type CanonicalRequest = CanonicalTarget & { readonly headers: CleanHeaders }
