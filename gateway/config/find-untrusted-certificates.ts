import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'

/**
 * Reports C351 for a `clientCertificateHeader` without `trustedProxies`. The header is honored only from trusted
 * proxies, so it would have no effect.
 */
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
