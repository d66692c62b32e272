import type { LocationOf } from '../../platform/config/read-config.ts'
import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'

/** Reports C321 for an http `baseUrl` if the gateway itself terminates TLS: clients could not use that URL. */
export function findPlainBaseUrl(file: GatewayFile, placeOf: LocationOf): readonly Diagnostic[] {
  if (file.tls === undefined || file.baseUrl.startsWith('https://')) return []
  return [
    diagnostic('C321', `baseUrl: ${file.baseUrl} must use https, because tls is set`, placeOf(['baseUrl']), {
      hint: 'set the https address that clients use, or remove tls',
    }),
  ]
}
