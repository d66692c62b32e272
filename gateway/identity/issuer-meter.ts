import type { IntrospectionResult } from './introspect.ts'
import type { IssuerKeysMeter } from './jwt/issuer-keys.ts'

/** Counts what happens between the gateway and one issuer. */
export type IssuerMeter = IssuerKeysMeter & {
  introspected(result: IntrospectionResult): void
}
