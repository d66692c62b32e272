import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'
import { toOverloadLimits } from './to-overload-limits.ts'

/** Reports C310 if `close` is above `refuse`: closing connections is the milder measure and must come first. */
export function findOverloadOrder(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const { heap, memory, loop } = toOverloadLimits(file.overload)
  return Object.entries({ heap, memory, loopDelay: loop }).flatMap(([name, { close, refuse }]) =>
    close <= refuse
      ? []
      : [
          diagnostic('C310', `overload.${name}: close must not exceed refuse`, wholeFile(shownAs), {
            hint: 'the gateway closes connections before it rejects requests: set close to at most refuse',
          }),
        ],
  )
}
