import { invalidRequest, type OAuthRefusal } from './oauth-refusal.ts'

/**
 * Rejects credentials in the `Authorization` header: clients use `none` or `client_secret_post`.
 * The challenge names the scheme that the client tried.
 * Source: docs/interface.md section 5.2, RFC 6749 section 5.2.
 */
export function checkAuthorizationHeader(
  authorization: string | undefined,
  issuer: string,
): OAuthRefusal | undefined {
  if (authorization === undefined) return undefined
  if (!/^basic(\s|$)/i.test(authorization))
    return invalidRequest(
      'This endpoint does not accept an Authorization header: send client_id in the form body.',
    )
  return {
    status: 401,
    error: 'invalid_client',
    description:
      'HTTP Basic is not supported here: send client_id and client_secret in the form body (client_secret_post).',
    challenge: `Basic realm="${issuer}", error="invalid_client"`,
  }
}

/**
 * Rejects introspection without a client secret (RFC 7662 section 2.1).
 * The response has no challenge (RFC 6749 section 5.2), because `client_secret_post` has no registered scheme.
 */
export function checkIntrospectionCaller(form: URLSearchParams): OAuthRefusal | undefined {
  if ((form.get('client_secret') ?? '') !== '') return undefined
  return {
    status: 401,
    error: 'invalid_client',
    description:
      'Introspection needs client authentication: send client_id and client_secret in the form body.',
  }
}
