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
      return say('nothing says where the keys are that they are signed with', 'add jwt, with keys or without')
    const subject = jwt.claims?.subject ?? DEFAULTS.jwtClaims.subject
    if (subject !== 'sub')
      return say(
        `they name people by sub, and its tokens by ${subject}`,
        'leave claims.subject or securityEvents out',
      )
    if ((file.workers ?? 1) !== 1 && file.redis === undefined)
      return say(
        'one worker would hear of an event, and the others would not',
        'set redis.url, or workers to 1',
      )
    return []
  })
}
