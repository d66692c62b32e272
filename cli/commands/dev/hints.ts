/** Returns a hint for an access log entry of the gateway; undefined: no hint. */
export type HintOf = (entry: Readonly<Record<string, unknown>>) => string | undefined

/**
 * Creates the hints of `scopegate dev` for the most frequent mistakes with a new installation. Each hint names the remedy,
 * and occurs only once. The text contains no data of the client.
 */
export function createHints(baseUrl: string): HintOf {
  const shown = new Set<string>()
  return (entry) => {
    const hint = hintFor(entry, baseUrl)
    if (hint === undefined || shown.has(hint)) return undefined
    shown.add(hint)
    return hint
  }
}

/** A new sign-in helps only if the token was valid before. Other faults are in the request or in the configuration. */
function tokenRemedy(fault: string, baseUrl: string): string {
  if (fault === 'malformed')
    return 'The token is malformed. Check that the request has the header "Authorization: Bearer <access token>" with the complete token.'
  if (fault === 'inactive')
    return `The issuer does not know the token, or the token is expired or revoked. Check that the token is complete, or sign in again at ${baseUrl}/docs.`
  if (fault === 'expired') return `The token is expired. Refresh it, or sign in again at ${baseUrl}/docs.`
  return `The token is not valid (${fault}). error_description in the response names the remedy.`
}

function hintFor(entry: Readonly<Record<string, unknown>>, baseUrl: string): string | undefined {
  const text = (key: string): string => (typeof entry[key] === 'string' ? entry[key] : '')
  const errors = `${baseUrl}/docs/errors`
  const status = entry['http.response.status_code']
  if (status === 401 && text('auth.decision') === 'allow')
    return `The gateway allowed the request, and the upstream ${text('upstream')} sent the 401. If it requires the identity of the caller, set upstreamAuth in the policy.`
  if (status === 401 && text('auth.reason') === 'anonymous')
    return `The request has no token. Sign in at ${baseUrl}/docs, or follow ${baseUrl}/auth.md. See ${errors}/unauthorized`
  if (status === 401 && text('auth.reason') === 'insufficient_user_authentication')
    return `The person must sign in again, as the challenge in the response describes. See ${errors}/insufficient_user_authentication`
  if (status === 401 && text('auth.reason') === 'invalid_proof')
    return `The DPoP proof is not valid. error_description in the response names the fault. See ${errors}/invalid_dpop_proof`
  if (status === 401)
    return `${tokenRemedy(text('auth.token_fault') || text('auth.reason'), baseUrl)} See ${errors}/invalid_token`
  if (status === 403 && text('auth.reason') === 'insufficient_scope')
    return `The token lacks a scope. At ${baseUrl}/docs, select the scope and sign in again. See ${errors}/insufficient_scope`
  if (status === 400 && text('http.request.method') === '')
    return `The gateway cannot read the request as HTTP/1.1. If the client used https: this port has no TLS, use ${baseUrl}.`
  if (status === 404 && text('route') === '')
    return `No policy has this path. scopegate explain GET <path> shows the nearest route. See ${errors}/not_found`
  if (status === 502)
    return `The upstream ${text('upstream')} cannot be reached (${text('error.code')}). Start it, or correct its url in upstreams.yaml. See ${errors}/upstream_unavailable`
  return undefined
}
