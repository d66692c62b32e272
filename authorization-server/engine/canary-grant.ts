import { type ClientMetadata, errors, type Provider, type ResourceServer } from 'oidc-provider'
import { formatScope, parseScope } from '../../oauth/scope.ts'
import { hashClientSecret } from './client-secret.ts'

/** The client of `scopegate canary`. Each token of this client has the same access. */
export type CanaryClient = {
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly resource: string
  /** Counts a token request. Returns the time to wait, or undefined when the request is within the limit. */
  readonly takeToken: () => { readonly retryAfterSeconds: number } | undefined
}

/** Grant type of the canary. RFC 6749 section 4.4. */
export const CANARY_GRANT_TYPE = 'client_credentials'

/** Maximum lifetime of a token of the canary. Longer than a run with the default deadline. */
export const CANARY_TOKEN_SECONDS = 120

/** Returns the metadata of the client, which can use no other grant type and no authorization request. */
export function canaryMetadata({ clientId, clientSecret }: CanaryClient): ClientMetadata {
  return {
    client_id: clientId,
    client_secret: hashClientSecret(clientSecret),
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris: [],
    response_types: [],
    grant_types: [CANARY_GRANT_TYPE],
  }
}

/**
 * Issues access tokens to the canary. A token has its own grant, because revocations identify tokens by their grant. The
 * subject is the client (RFC 9068 section 2.2), so the token has no account, refresh token or ID token.
 */
export function registerCanaryGrant(
  provider: Provider,
  canary: CanaryClient,
  { resourceServer, expiresIn }: { readonly resourceServer: ResourceServer; readonly expiresIn: number },
): void {
  provider.registerGrantType<{ readonly scope?: string; readonly resource?: string }>(
    CANARY_GRANT_TYPE,
    async (ctx) => {
      const { client, params } = ctx.oidc
      // The engine has authenticated the client, and only the metadata of the canary contains this grant type.
      if (client.clientId !== canary.clientId)
        throw new errors.InvalidRequest('requested grant type is not allowed for this client')
      if (params.resource !== undefined && params.resource !== canary.resource)
        throw new errors.InvalidTarget(`resource must be ${canary.resource}, the resource of this client`)
      const asked = parseScope(params.scope ?? '')
      if (asked?.every((scope) => canary.scopes.includes(scope)) !== true)
        throw new errors.InvalidScope('scope must contain only scopes of this client', params.scope ?? '')
      const wait = canary.takeToken()
      if (wait !== undefined) {
        ctx.set('Retry-After', String(wait.retryAfterSeconds))
        throw tooManyTokens(wait.retryAfterSeconds)
      }
      const scope = formatScope(asked.length === 0 ? canary.scopes : asked)
      const accountId = client.clientId
      const grant = new provider.Grant({ accountId, clientId: client.clientId })
      grant.addResourceScope(canary.resource, scope)
      const token = new provider.AccessToken({
        ...{ client, accountId, scope, expiresIn },
        grantId: await grant.save(),
        gty: CANARY_GRANT_TYPE,
        resourceServer: new provider.ResourceServer(canary.resource, resourceServer),
      })
      ctx.oidc.entity('Grant', grant)
      ctx.oidc.entity('AccessToken', token)
      ctx.body = {
        access_token: await token.save(),
        expires_in: token.expiration,
        scope,
        token_type: token.tokenType,
      }
    },
    ['scope', 'resource'],
  )
}

function tooManyTokens(seconds: number): Error {
  const { OIDCProviderError } = errors
  return Object.assign(new OIDCProviderError(429, 'rate_limited'), {
    error_description: `This client requested too many tokens. Try again in ${seconds} seconds.`,
  })
}
