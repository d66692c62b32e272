import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { LocationOf } from './find-contradictions.ts'
import type { GatewayFile } from './gateway-file.ts'

/** Where the gateway speaks TLS itself, no client can be sent to an address without: C321. */
export function findPlainBaseUrl(file: GatewayFile, placeOf: LocationOf): readonly Diagnostic[] {
  if (file.tls === undefined || file.baseUrl.startsWith('https://')) return []
  return [
    diagnostic('C321', `baseUrl: with tls clients cannot use ${file.baseUrl}`, placeOf(['baseUrl']), {
      hint: 'write the https address that clients use, or leave tls out',
    }),
  ]
}
