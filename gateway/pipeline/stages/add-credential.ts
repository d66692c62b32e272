import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { type UpstreamCredential, withoutCredential } from '../../upstreams/credentials/credential.ts'
import type { ShapedContext } from '../request-context.ts'

/**
 * Adds the credential of the gateway at the upstream. Removes all other headers with the same name, so that a client or
 * a policy cannot set this header. Waits for a token only if there is no token and a fetch is in progress.
 * Reads `route`. Changes `upstreamHeaders`.
 * @returns `upstream_credentials_unavailable` (503) without a token.
 */
export function addCredential(
  context: ShapedContext,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { credential } = context.route.upstream
  if (credential === undefined) return undefined
  if (credential.header !== undefined || credential.pending === undefined)
    return addHeader(context, credential)
  return credential.pending.then(() => addHeader(context, credential))
}

function addHeader(context: ShapedContext, credential: UpstreamCredential): Rejection | undefined {
  const { header, retryAfterSeconds } = credential
  if (header === undefined) return { rejected: 'upstream_credentials_unavailable', retryAfterSeconds }
  const headers = withoutCredential(context.upstreamHeaders, credential)
  headers.push(...header)
  context.upstreamHeaders = headers
  return undefined
}
