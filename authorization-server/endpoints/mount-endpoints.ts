import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { AddressLimit } from '../../platform/net/address-limit.ts'
import type { Compat } from '../config.ts'
import type { Engine, EngineRequest } from '../engine/engine.ts'
import { requestSource } from '../engine/request-source.ts'
import { recordOutcome } from '../observe/access-log.ts'
import { parseRegistration } from '../register/client-registration.ts'
import { checkAuthorizationHeader, checkIntrospectionCaller } from './client-authentication.ts'
import { ENGINE_ENDPOINTS, type Endpoint } from './endpoint-table.ts'
import { type Presentation, sendAuthorizationError } from './error-page.ts'
import {
  invalidRequest,
  type OAuthErrorResponse,
  sendErrorResponse,
  tooManyRequests,
} from './oauth-error-response.ts'
import type { AuthorizationLimit } from './rate-limits.ts'
import { readForm, readJsonObject } from './read-body.ts'
import {
  canonicalizeResource,
  findInvalidTarget,
  findLongParameter,
  invalidTarget,
} from './request-parameters.ts'
/** Options for `mountEndpoints()`. `count` receives the result of each response: `ok`, or the error code. */
export type MountEndpointsOptions = {
  readonly engine: Engine
  readonly issuer: string
  /** Resources for which the server issues tokens. The first resource is the issuer. */
  readonly resources: readonly string[]
  readonly catalogue: ScopeCatalogue
  readonly registration: { readonly loopbackHosts: readonly string[]; readonly bodyLimitBytes: number }
  readonly presentation: Presentation
  readonly compat: Compat
  readonly registrationLimit: AddressLimit
  readonly authorizationLimit: AuthorizationLimit
  /** Returns the id of the integration that the credentials in a form belong to. */
  readonly authenticateIntegration: (form: URLSearchParams) => string | undefined
  readonly logger: Pick<Logger, 'error'>
  readonly count: (endpoint: string, grantType: string, result: string) => void
}

const FORM_LIMIT_BYTES = 32_768 // the largest valid form is a pushed authorization request with all scopes

type Admitted = Omit<EngineRequest, 'origin'> & {
  readonly grantType?: string
  /** The parameters of a token request. Set only for a request with `resource`. */
  readonly tokenRequest?: URLSearchParams
}

/**
 * Mounts each endpoint of the engine as a separate route with an exact path and method.
 * The route reads and checks the body. The engine writes the response to the hijacked reply.
 */
export function mountEndpoints(app: FastifyInstance, options: MountEndpointsOptions): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  for (const endpoint of ENGINE_ENDPOINTS)
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      bodyLimit: endpoint.body === 'json' ? options.registration.bodyLimitBytes : FORM_LIMIT_BYTES,
      exposeHeadRoute: endpoint.cors, // a HEAD request at the authorization endpoint would start or finish a sign-in
      handler: async (request, reply) => {
        const admission = await checkGrantedTarget(admit(endpoint, request, options), options)
        if ('rejected' in admission) {
          options.count(endpoint.name, admission.grantType ?? '-', admission.rejected.error)
          return endpoint.name === 'authorization'
            ? sendAuthorizationError(reply, admission.rejected, options.presentation)
            : sendErrorResponse(reply, admission.rejected)
        }
        return forwardToEngine(endpoint, admission, request, reply, options)
      },
    })
}

async function forwardToEngine(
  endpoint: Endpoint,
  admitted: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
  options: MountEndpointsOptions,
): Promise<FastifyReply> {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  reply.hijack()
  try {
    const origin = { requestId: request.id, clientAddress: request.ip }
    const onClient = (clientId: string): void => recordOutcome(request, { clientId })
    const result = await options.engine.handle(request.raw, reply.raw, { ...admitted, origin, onClient })
    if (result !== 'ok') recordOutcome(request, { error: result })
    options.count(endpoint.name, admitted.grantType ?? '-', result)
  } catch (cause) {
    // The engine handles its own errors. This error came from the code around the engine. Fastify no longer handles the
    // reply.
    options.logger.error(
      {
        event: 'failed',
        request_id: request.id,
        'client.address': request.ip,
        endpoint: endpoint.name,
        err: cause,
      },
      'request failed',
    )
    recordOutcome(request, { error: 'server_error' })
    options.count(endpoint.name, admitted.grantType ?? '-', 'server_error')
    reply.raw.destroy()
  }
  return reply
}

type Admission = Admitted | { readonly rejected: OAuthErrorResponse; readonly grantType?: string }

function admit(endpoint: Endpoint, request: FastifyRequest, options: MountEndpointsOptions): Admission {
  switch (endpoint.body) {
    case 'none':
      return endpoint.name === 'authorization' ? admitAuthorization(request, options) : {}
    case 'json':
      return admitRegistration(request, options)
    case 'form':
      return admitForm(endpoint, request, options)
  }
}

function admitAuthorization(request: FastifyRequest, options: MountEndpointsOptions): Admission {
  const [path = '', query = ''] = splitOnce(request.raw.url ?? '', '?')
  const parameters = new URLSearchParams(query)
  const requestUri = parameters.get('request_uri') ?? ''
  const rejected = checkAuthorization(parameters, request, options, { requestUri })
  if (rejected !== undefined) return { rejected }
  const isDefaulted = addDefaultScope(parameters, options.compat)
  const isCanonicalised = canonicalizeResource(parameters, options.resources)
  return isDefaulted || isCanonicalised ? { url: `${path}?${parameters}` } : {}
}

/**
 * Adds the configured default scope to an authorization request without `scope` (RFC 6749 section 3.3). Skips a request
 * with `request_uri`, because the pushed request already contains the parameters.
 * @returns whether the function changed `parameters`.
 */
function addDefaultScope(parameters: URLSearchParams, { defaultScope }: Compat): boolean {
  const hasScope = (parameters.get('scope') ?? '') !== '' || (parameters.get('request_uri') ?? '') !== ''
  if (defaultScope === undefined || hasScope) return false
  parameters.set('scope', defaultScope)
  return true
}

/** Rejects an authorization request, pushed or not, if the request is too large to store or exceeds a rate limit. */
function checkAuthorization(
  parameters: URLSearchParams,
  request: FastifyRequest,
  options: MountEndpointsOptions,
  {
    integrationId,
    requestUri,
  }: { readonly integrationId?: string | undefined; readonly requestUri?: string },
): OAuthErrorResponse | undefined {
  const tooLong = findLongParameter(parameters)
  if (tooLong !== undefined) return invalidRequest(tooLong)
  const { address } = requestSource({ clientAddress: request.ip, integrationId })
  const wait = options.authorizationLimit.take(address, requestUri)
  const sender = integrationId === undefined ? 'came from this address' : 'came from this client'
  return wait && tooManyRequests(`Too many authorization requests ${sender}.`, wait.retryAfterSeconds)
}

function admitRegistration(request: FastifyRequest, options: MountEndpointsOptions): Admission {
  const read = readJsonObject(request.headers, asBuffer(request.body))
  if ('rejected' in read) return read
  const parsed = parseRegistration(read.object, {
    loopbackHosts: options.compat.loopbackRedirects
      ? [...new Set([...options.registration.loopbackHosts, 'localhost'])]
      : options.registration.loopbackHosts,
    portOptional: options.compat.loopbackRedirects,
    catalogue: options.catalogue,
  })
  if ('rejected' in parsed) return { rejected: { status: 400, ...parsed.rejected } }
  const wait = options.registrationLimit.take(request.ip)
  if (wait !== undefined)
    return {
      rejected: tooManyRequests(
        'Too many clients were registered from this address. A client registers once and keeps its client_id.',
        wait.retryAfterSeconds,
      ),
    }
  return { body: Buffer.from(JSON.stringify(parsed.registration)) }
}

function admitForm(endpoint: Endpoint, request: FastifyRequest, options: MountEndpointsOptions): Admission {
  const read = readForm(request.headers, asBuffer(request.body))
  if ('rejected' in read) return read
  const { form } = read
  const grantType = form.get('grant_type') ?? '-'
  const rejected =
    checkAuthorizationHeader(request.headers.authorization, options.issuer) ??
    (endpoint.name === 'introspection' ? checkIntrospectionCaller(form) : undefined)
  if (rejected !== undefined) return { rejected, grantType }
  if (endpoint.name === 'pushed_authorization_request') return admitPushed(form, request, options)
  canonicalizeResource(form, options.resources)
  const body = Buffer.from(form.toString())
  if (endpoint.name !== 'token') return { body, grantType }
  const target = findInvalidTarget(form, options.resources)
  if (target !== undefined) return { rejected: target, grantType }
  return form.has('resource') ? { body, grantType, tokenRequest: form } : { body, grantType }
}

function admitPushed(
  form: URLSearchParams,
  request: FastifyRequest,
  options: MountEndpointsOptions,
): Admission {
  const integrationId = options.authenticateIntegration(form)
  const rejected = checkAuthorization(form, request, options, { integrationId })
  if (rejected !== undefined) return { rejected }
  addDefaultScope(form, options.compat)
  canonicalizeResource(form, options.resources)
  const body = Buffer.from(form.toString())
  return { body, integrationId, onPushed: options.authorizationLimit.pushed }
}

/**
 * Rejects a token request for a resource without consent.
 * This check runs before the engine, because the engine would consume the code or refresh token first. A request with
 * an invalid code or refresh token passes this check, and the engine rejects the request.
 */
async function checkGrantedTarget(admission: Admission, options: MountEndpointsOptions): Promise<Admission> {
  if ('rejected' in admission || admission.tokenRequest === undefined || options.resources.length < 2)
    return admission
  const { tokenRequest: form, grantType = '-' } = admission
  const by =
    grantType === 'refresh_token'
      ? { refreshToken: form.get('refresh_token') ?? '' }
      : { code: form.get('code') ?? '' }
  const granted = await options.engine.findGrantedResources(by, form.get('client_id') ?? '')
  if (granted === undefined || granted.includes(form.get('resource') ?? '')) return admission
  const rejected = invalidTarget(
    'the person allowed access to another resource; authorize again for this resource',
  )
  return { rejected, grantType }
}

function asBuffer(body: unknown): Buffer | undefined {
  return Buffer.isBuffer(body) ? body : undefined
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
