import type { IntrospectionResult } from './introspection/question-issuer.ts'
import type { IssuerKeysMeter } from './jwt/issuer-keys.ts'
import type { SharedResult } from './shared/shared-answers.ts'

/** Counts what happens between the gateway and one issuer. */
export type IssuerMeter = IssuerKeysMeter & {
  introspected(result: IntrospectionResult): void
  sharedLookUp(result: SharedResult): void
}
