import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'

/**
 * Reports C351 for a `clientCertificateHeader` without `trustedProxies`. The header is honored only from trusted
 * proxies, so it would have no effect.
 */
export function findUntrustedCertificates(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  if (file.clientCertificateHeader === undefined || (file.trustedProxies ?? []).length > 0) return []
  return [
    diagnostic('C351', 'clientCertificateHeader: has no effect without trustedProxies', wholeFile(shownAs), {
      hint: 'list the proxies that set the header in trustedProxies',
    }),
  ]
}
