import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayFile } from './gateway-file.ts'

/**
 * Reports C346 for security events that cannot be verified, do not match the subjects of the tokens, or reach only one
 * of several workers.
 */
export function findUnusableEvents(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  return file.issuers.flatMap(({ jwt, securityEvents }, index) => {
    if (securityEvents === undefined) return []
    const say = (message: string, hint: string): readonly Diagnostic[] => [
      diagnostic('C346', `issuers[${index}].securityEvents: ${message}`, wholeFile(shownAs), { hint }),
    ]
    if (jwt === undefined)
      return say('the gateway has no keys to verify events', 'add jwt, with or without keys')
    const subject = jwt.claims?.subject ?? DEFAULTS.jwtClaims.subject
    if (subject !== 'sub')
      return say(
        `events identify subjects by sub, but its tokens by ${subject}`,
        'remove claims.subject or securityEvents',
      )
    if ((file.workers ?? 1) !== 1 && file.redis === undefined)
      return say('an event would reach only one of several workers', 'set redis.url, or set workers to 1')
    return []
  })
}
