import type { SharedLookupResult } from './cache/shared-cache.ts'
import type { IntrospectionOutcome } from './introspection/introspection-client.ts'
import type { IssuerKeysMeter } from './jwt/issuer-keys.ts'

export type IssuerMeter = IssuerKeysMeter & {
  introspected(result: IntrospectionOutcome): void
  sharedLookUp(result: SharedLookupResult): void
  staleUsed(): void
}
