import { Agent } from 'undici'
import { parseJsonObject } from '../../../oauth/jwt/parse-json-object.ts'
import { postForm } from '../../../platform/net/post-form.ts'
import { issuerTls } from '../../tokens/issuer-tls.ts'
import { createClientAssertion, type PrivateKeyJwt } from './client-assertion.ts'

/** How the gateway gets tokens for an upstream. RFC 6749 section 4.4. */
export type TokenRequest = {
  /** The URL from the configuration. */
  readonly tokenEndpoint: string
  readonly clientId: string
  readonly authMethod: 'client_secret_basic' | 'client_secret_post' | PrivateKeyJwt
  /** Empty: the server selects the scopes. */
  readonly scopes: readonly string[]
  /** RFC 8707 section 2. undefined: the server selects the resource. */
  readonly resource: string | undefined
  /** A parameter of servers without RFC 8707. Undefined: the request has no `audience`. */
  readonly audience: string | undefined
  /** CA certificates for connections to the endpoint, in PEM. Undefined: the public CA certificates. */
  readonly ca: string | undefined
}

export type AccessToken = { readonly token: string; readonly lifetimeSeconds: number }

/** Result of a failed token request. The result is a metric label, so the set of values is fixed. */
export type TokenFailure = 'connection' | 'timeout' | 'credentials' | 'status' | 'response'

/** The message contains no text of the response, because a response can contain a token or the secret. */
export class TokenRequestError extends Error {
  override readonly name = 'TokenRequestError'
  readonly code: string
  readonly failure: TokenFailure

  constructor(failure: TokenFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
    this.code = `ERR_UPSTREAM_TOKEN_${failure.toUpperCase()}`
  }
}

export type TokenClient = {
  /**
   * @param secret the client secret, or the content of the key file.
   * @throws {TokenRequestError} by rejection.
   */
  fetchToken(secret: string): Promise<AccessToken>
  close(): Promise<void>
}

/** Deadline of a token request, from the DNS lookup to the last byte. Milliseconds. */
const TIMEOUT_MS = 5_000
const RESPONSE_LIMIT_BYTES = 64 * 1024
/** Servers accept at least 8 KiB of headers. Characters. */
const MAX_TOKEN_LENGTH = 4_096
/** RFC 6750 section 2.1. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/
/** Lifetime of a token whose response has no `expires_in`. Seconds. */
const DEFAULT_LIFETIME_SECONDS = 300
/** The gateway could not renew tokens with a shorter lifetime in time. Seconds. */
const MIN_LIFETIME_SECONDS = 10
/** The gateway renews a token at least once a day. Seconds. */
const MAX_LIFETIME_SECONDS = 86_400
/** Error codes that concern the client. RFC 6749 section 5.2. */
const CLIENT_ERRORS: ReadonlySet<unknown> = new Set(['invalid_client', 'unauthorized_client'])
/** The error codes that messages may contain. RFC 6749 section 5.2, RFC 8707 section 2. */
const KNOWN_ERRORS: ReadonlySet<unknown> = new Set([
  ...CLIENT_ERRORS,
  'invalid_request',
  'invalid_grant',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
])

/**
 * Creates a client that fetches tokens with client credentials.
 * @param nowMs the time in an assertion. Milliseconds since 1970.
 */
export function createTokenClient(request: TokenRequest, nowMs: () => number): TokenClient {
  const endpoint = new URL(request.tokenEndpoint)
  // Fetches are minutes apart, so no connection is kept open.
  const agent = new Agent({
    headersTimeout: 0, // the deadline of the signal covers the whole request
    bodyTimeout: 0,
    pipelining: 0,
    connect: issuerTls(request.ca),
  })
  return {
    async fetchToken(secret) {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      try {
        return readToken(
          await postForm(agent, endpoint, {
            ...formatRequest(request, secret, nowMs()),
            limitBytes: RESPONSE_LIMIT_BYTES,
            signal,
          }),
        )
      } catch (error) {
        if (error instanceof TokenRequestError) throw error
        if (signal.aborted)
          throw new TokenRequestError(
            'timeout',
            `The token endpoint did not respond within ${TIMEOUT_MS} ms.`,
          )
        throw new TokenRequestError('connection', 'The connection to the token endpoint failed.', {
          cause: error,
        })
      }
    },
    close: () => agent.destroy(),
  }
}

function formatRequest(
  request: TokenRequest,
  secret: string,
  nowMs: number,
): { form: string; headers: readonly string[] } {
  const { clientId, scopes, resource, audience, authMethod } = request
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  if (scopes.length > 0) form.set('scope', scopes.join(' '))
  if (resource !== undefined) form.set('resource', resource)
  if (audience !== undefined) form.set('audience', audience)
  const headers = ['accept', 'application/json', 'accept-encoding', 'identity']
  if (typeof authMethod === 'object') {
    form.set('client_id', clientId)
    form.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    form.set('client_assertion', createClientAssertion(secret, { ...authMethod, clientId, nowMs }))
    return { form: form.toString(), headers }
  }
  if (authMethod === 'client_secret_post') {
    form.set('client_id', clientId)
    form.set('client_secret', secret)
    return { form: form.toString(), headers }
  }
  // RFC 6749 section 2.3.1: both parts are form-encoded first.
  const encoded = [clientId, secret].map((part) => new URLSearchParams([['', part]]).toString().slice(1))
  const basic = Buffer.from(encoded.join(':')).toString('base64')
  return { form: form.toString(), headers: [...headers, 'authorization', `Basic ${basic}`] }
}

/**
 * Validates a token response. RFC 6749 section 5.1.
 * @throws {TokenRequestError}
 */
function readToken({ status, mediaType, text }: Awaited<ReturnType<typeof postForm>>): AccessToken {
  const members = parseJsonObject(text ?? '')
  // Some servers send an error with the status 200.
  const error = members?.get('error') ?? undefined
  if (status !== 200 || error !== undefined) throw statusError(status, error)
  if (text === undefined) throw invalid('is larger than 64 KiB')
  if (mediaType !== 'application/json') throw invalid('must have the content-type application/json')
  if (members === undefined) throw invalid('is not an unambiguous JSON object')
  const type = members.get('token_type')
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw invalid('must have the token_type Bearer')
  const token = members.get('access_token')
  if (typeof token !== 'string' || token.length > MAX_TOKEN_LENGTH || !B64TOKEN.test(token))
    throw invalid(
      `must have an access_token of 1 to ${MAX_TOKEN_LENGTH} characters that RFC 6750 section 2.1 allows`,
    )
  const expiresIn = members.get('expires_in') ?? DEFAULT_LIFETIME_SECONDS
  if (typeof expiresIn !== 'number' || !Number.isInteger(expiresIn) || expiresIn < MIN_LIFETIME_SECONDS)
    throw invalid(`must have a whole number of at least ${MIN_LIFETIME_SECONDS} in expires_in`)
  return { token, lifetimeSeconds: Math.min(expiresIn, MAX_LIFETIME_SECONDS) }
}

function invalid(fault: string): TokenRequestError {
  return new TokenRequestError('response', `The response of the token endpoint ${fault}.`)
}

function statusError(status: number, error: unknown): TokenRequestError {
  const named = KNOWN_ERRORS.has(error) ? `status ${status}, ${error}` : `status ${status}`
  return status === 401 || status === 403 || CLIENT_ERRORS.has(error)
    ? new TokenRequestError('credentials', `The token endpoint rejects the client credentials (${named}).`)
    : new TokenRequestError('status', `The token endpoint responded with ${named}.`)
}
