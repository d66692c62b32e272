import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayFile } from './gateway-file.ts'
import { milliseconds } from './to-numbers.ts'

/**
 * Reports C309 unless the drain delay is below the grace period. The grace period includes the delay, and open requests
 * need the rest of it.
 */
export function findDrainOrder(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const { delay, grace } = { ...DEFAULTS.drain, ...file.drain }
  if (milliseconds(delay) < milliseconds(grace)) return []
  return [
    diagnostic('C309', `drain: delay (${delay}) must be less than grace (${grace})`, wholeFile(shownAs), {
      hint: 'grace starts at the signal and includes the delay: set drain.grace to the delay plus the duration of your longest requests',
    }),
  ]
}
