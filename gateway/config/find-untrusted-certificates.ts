import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'

/** A header with a client's certificate is believed of nobody but trusted proxies: without any it does nothing. C351. */
export function findUntrustedCertificates(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  if (file.clientCertificateHeader === undefined || (file.trustedProxies ?? []).length > 0) return []
  return [
    diagnostic(
      'C351',
      'clientCertificateHeader: nobody is believed about client certificates',
      wholeFile(shownAs),
      {
        hint: 'name the proxies that set the header in trustedProxies',
      },
    ),
  ]
}
