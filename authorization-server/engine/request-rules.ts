import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { parseScope, type ScopeCatalogue } from '../../oauth/scope.ts'

type Rule = (ctx: KoaContextWithOIDC, value: string | undefined) => void

/**
 * Returns rules for authorization requests in addition to the checks of the engine.
 * The rules run after the checks of the client and its redirect URI, so the client gets the errors by redirect.
 */
export function requestRules(
  catalogue: ScopeCatalogue,
  options: { readonly optionalState: boolean },
): Record<string, Rule> {
  return {
    scope: (ctx) => checkScope(rawParameter(ctx, 'scope'), catalogue),
    state: (ctx) => {
      if (!options.optionalState) requireState(rawParameter(ctx, 'state'))
    },
    response_mode: (ctx) => rejectOtherResponseModes(ctx),
  }
}

/**
 * Returns the parameter as the client sent it. The engine drops unknown values from its own copy. `pushed`: the request
 * has a `request_uri`, and the server checked the parameters when the client pushed them.
 */
function rawParameter(ctx: KoaContextWithOIDC, name: string): string | undefined | 'pushed' {
  const isPush = ctx.oidc.route === 'pushed_authorization_request'
  const source = isPush ? ctx.oidc.body : ctx.query
  if (!isPush && sent(source?.['request_uri']) !== undefined) return 'pushed'
  return sent(source?.[name])
}

/** Returns the value, or undefined for an empty text. RFC 6749 section 3.1: an empty parameter counts as omitted. */
function sent(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function checkScope(scope: string | undefined, catalogue: ScopeCatalogue): void {
  if (scope === 'pushed') return
  if (scope === undefined)
    throw new errors.InvalidRequest('scope is required: name the scopes that you need, separated by spaces')
  const tokens = parseScope(scope)
  if (tokens === undefined)
    throw new errors.InvalidScope(
      'scope is not valid: separate scopes by one space, and use only the characters of RFC 6749 section 3.3',
      '',
    )
  // The server accepts `offline_access` without effect, because this server always issues a refresh token. OpenID
  // Connect Core 1.0 section 11.
  const unknown = tokens.filter((token) => token !== 'offline_access' && !catalogue.has(token))
  if (unknown.length > 0)
    throw new errors.InvalidScope(
      'a requested scope is unknown; scopes_supported in the metadata lists all scopes',
      unknown.join(' '),
    )
  if (!tokens.some((token) => catalogue.has(token)))
    throw new errors.InvalidScope(
      'offline_access alone grants no access: name the scopes that you need',
      scope,
    )
}

function requireState(state: string | undefined): void {
  if (state === undefined)
    throw new errors.InvalidRequest(
      'state is required: send a random value, and compare it with state in the redirect',
    )
}

/** Rejects a response mode other than `query`: this server returns `code` and `iss` as query parameters only. */
function rejectOtherResponseModes(ctx: KoaContextWithOIDC): void {
  const mode = ctx.oidc.params?.['response_mode']
  if (mode === undefined || mode === 'query') return
  if (ctx.oidc.params !== undefined) ctx.oidc.params['response_mode'] = undefined
  throw new errors.UnsupportedResponseMode('response_mode must be query')
}

/**
 * Rejects a request for an unknown resource or several resources. A consent and a token are for one resource.
 * Source: RFC 8707 section 2.
 * @throws {InvalidTarget} the error that the engine sends to the client.
 */
export function checkTarget(asked: unknown, resource: string, resources: readonly string[]): void {
  if (Array.isArray(asked) && asked.length > 1) throw new errors.InvalidTarget(ONE_TARGET)
  if (!resources.includes(resource)) throw new errors.InvalidTarget(unknownResource(resources))
}

/** Error for a request with several resources. RFC 8707 section 2. */
export const ONE_TARGET = 'name one resource: a token is valid for one API only'

/** Returns the error for a request with an unknown resource. RFC 8707 section 2. */
export function unknownResource(resources: readonly string[]): string {
  const [only, ...others] = resources
  return others.length === 0
    ? `resource must be ${only}, the only API this server issues tokens for`
    : 'this server issues no tokens for that resource; protected_resources in its metadata lists all resources'
}
