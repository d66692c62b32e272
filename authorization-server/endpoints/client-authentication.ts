import { hash, timingSafeEqual } from 'node:crypto'
import { matchesAnySecret } from '../engine/client-secret.ts'
import { invalidRequest, type OAuthErrorResponse } from './oauth-error-response.ts'

/**
 * Rejects credentials in the `Authorization` header, because the supported methods are `none` and `client_secret_post`.
 * HTTP Basic gets 401 with a challenge for Basic. Every other scheme gets 400. Source: docs/interface.md section 5.2,
 * RFC 6749 section 5.2.
 */
export function checkAuthorizationHeader(
  authorization: string | undefined,
  issuer: string,
): OAuthErrorResponse | undefined {
  if (authorization === undefined) return undefined
  if (!/^basic(\s|$)/i.test(authorization))
    return invalidRequest(
      'This endpoint does not accept an Authorization header: send client_id in the form body.',
    )
  return {
    status: 401,
    error: 'invalid_client',
    description:
      'This endpoint does not support HTTP Basic: send client_id and client_secret in the form body (client_secret_post).',
    challenge: `Basic realm="${issuer}", error="invalid_client"`,
  }
}

/**
 * Rejects introspection without a client secret (RFC 7662 section 2.1).
 * The response has no challenge (RFC 6749 section 5.2), because `client_secret_post` has no registered scheme.
 */
export function checkIntrospectionCaller(form: URLSearchParams): OAuthErrorResponse | undefined {
  if ((form.get('client_secret') ?? '') !== '') return undefined
  return {
    status: 401,
    error: 'invalid_client',
    description:
      'Introspection needs client authentication: send client_id and client_secret in the form body.',
  }
}

/**
 * Creates a function that checks the client credentials of a form against the configured integrations.
 * The function treats every other client as anonymous, even with a secret, because anyone can register a client.
 * @returns a function that returns the id of the integration, or undefined.
 */
export function authenticateIntegration(
  integrations: readonly { readonly clientId: string }[],
  clientSecretHashes: (clientId: string) => readonly string[] | undefined,
): (form: URLSearchParams) => string | undefined {
  const ids = new Set(integrations.map(({ clientId }) => clientId))
  return (form) => {
    const clientId = form.get('client_id') ?? ''
    if (!ids.has(clientId)) return undefined
    const accepted = clientSecretHashes(clientId) ?? []
    return matchesAnySecret(form.get('client_secret') ?? '', accepted) ? clientId : undefined
  }
}

/**
 * Creates a function that checks an `Authorization: Basic` header against the credentials of the gateway, in constant
 * time. `clientSecrets` returns all accepted secrets.
 * Source: RFC 7617.
 */
export function isGatewayClient(client: {
  readonly clientId: string
  readonly clientSecrets: () => readonly string[]
}): (authorization: string | undefined) => boolean {
  return (authorization) => {
    const credentials = readBasic(authorization)
    const presented = digest(credentials ?? '')
    const matching = client
      .clientSecrets()
      .filter((secret) => timingSafeEqual(presented, digest(`${client.clientId}:${secret}`)))
    return credentials !== undefined && matching.length > 0
  }
}

function readBasic(authorization: string | undefined): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8')
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
