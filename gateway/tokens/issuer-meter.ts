import type { SharedResult } from './cache/shared-cache.ts'
import type { IntrospectionResult } from './introspection/introspection-client.ts'
import type { IssuerKeysMeter } from './jwt/issuer-keys.ts'

/** Counts what happens between the gateway and one issuer. */
export type IssuerMeter = IssuerKeysMeter & {
  introspected(result: IntrospectionResult): void
  sharedLookUp(result: SharedResult): void
}
