import { withoutCredential } from '../../upstreams/credentials/credential.ts'
import type { ShapedContext } from '../request-context.ts'

/**
 * Adds the credential of the gateway at the upstream. Removes all other headers with the same name, so that a client or
 * a policy cannot set this header. Reads `route`. Changes `upstreamHeaders`.
 */
export function addCredential(context: ShapedContext): undefined {
  const { credential } = context.route.upstream
  if (credential === undefined) return undefined
  const headers = withoutCredential(context.upstreamHeaders, credential)
  headers.push(...credential.header)
  context.upstreamHeaders = headers
  return undefined
}
