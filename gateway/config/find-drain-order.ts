import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayFile } from './gateway-file.ts'
import { milliseconds } from './to-numbers.ts'

/** The delay is part of the grace: C309 when nothing would be left for the requests that are under way. */
export function findDrainOrder(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const { delay, grace } = { ...DEFAULTS.drain, ...file.drain }
  if (milliseconds(delay) < milliseconds(grace)) return []
  return [
    diagnostic('C309', `drain: the delay (${delay}) is not below the grace (${grace})`, wholeFile(shownAs), {
      hint: 'the grace counts from the signal and contains the delay: set drain.grace to the delay and the time that your longest requests take',
    }),
  ]
}
