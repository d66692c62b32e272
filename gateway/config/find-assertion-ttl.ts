import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayFile } from './gateway-file.ts'
import { milliseconds } from './to-numbers.ts'

/**
 * Reports C305 unless `assertion.ttl` is 5 s to 60 s in whole seconds. A stolen assertion is usable until it expires,
 * so its lifetime must be short. It must also be longer than its delivery.
 */
export function findAssertionTtl(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const ttlMs = milliseconds(file.assertion?.ttl ?? DEFAULTS.assertionTtl)
  if (ttlMs >= 5_000 && ttlMs <= 60_000 && ttlMs % 1_000 === 0) return []
  return [
    diagnostic(
      'C305',
      'assertion.ttl: the lifetime must be 5s to 60s, in whole seconds',
      wholeFile(shownAs),
      {
        hint: 'remove it to use 60s',
      },
    ),
  ]
}
