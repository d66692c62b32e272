/** The meaning of each reason in `scopegate_auth_decisions_total`, and the remedy. docs/rejections.md has all details. */
const REASONS: Readonly<Record<string, string>> = {
  anonymous:
    'The requests had no token. The client must send a token, or the policy must set anonymous: allow.',
  invalid_request: 'The requests had two credentials, or a token in the query.',
  invalid_token:
    'The issuer or the signature check rejected the tokens: they are unknown, revoked or malformed.',
  invalid_proof: 'A DPoP proof was missing, belonged to another request, or was used before.',
  expired: 'The tokens were expired. The client must refresh its token.',
  wrong_audience:
    'The tokens are for another resource. The client must request a token for the resource of this path.',
  insufficient_scope: 'The tokens lacked a required scope. The client must request the scopes of this route.',
  insufficient_user_authentication: 'The person must sign in again, or with a stronger method.',
  condition: 'A claim of the tokens did not satisfy a condition of the policy. The log names the condition.',
  rate_limited: 'The callers sent more requests than a rate limit allows.',
  unverifiable:
    'The gateway could not check the tokens, because the issuer did not respond. Look at the issuers.',
}

export function explainReason(reason: string): string {
  return REASONS[reason] ?? 'docs/rejections.md lists all rejections.'
}
