import { errors, Pool } from 'undici'
import { parseJsonObject } from '../../../oauth/jwt/parse-json-object.ts'
import { postForm } from '../../../platform/net/post-form.ts'
import { addTraceHeaders, type Tracing } from '../../../platform/tracing/tracing.ts'
import type { ClientSecret } from '../client-secret.ts'
import { issuerTls } from '../issuer-tls.ts'
import { IntrospectionError } from './introspection-error.ts'

export type IntrospectionTransportOptions = {
  /** The URL from the configuration. The URL never depends on a token or a request. */
  readonly endpoint: string
  readonly clientId: string
  readonly clientSecret: string
  /**
   * The secret from a file, which replaces `clientSecret` when the file changes. Undefined: the secret does not change.
   */
  readonly followedSecret?: ClientSecret | undefined
  /** CA certificates for connections to the issuer, in PEM. Undefined: the public CA certificates. */
  readonly ca: string | undefined
  /** The only media type that the gateway accepts. */
  readonly accept: 'application/json' | 'application/token-introspection+jwt'
  /** Maximum number of connections. Each connection carries one request at a time. */
  readonly connections: number
  /**
   * Whether the issuer gets the ID of the request that needs the token status. Default: no, because only the logs of a
   * Scopegate authorization server contain the ID.
   */
  readonly sendsRequestId?: boolean
  /** Records each call in a span. Default: no spans. */
  readonly tracing?: Tracing | undefined
}

export type IntrospectionTransport = {
  /**
   * Returns the body of the issuer's response. Cost: one HTTP request, or more if the connection fails or the secret
   * has changed.
   * @throws {IntrospectionError} ERR_INTROSPECTION_CONNECTION, _CREDENTIALS, _STATUS, _RESPONSE. If the
   * signal aborts, throws the reason of the signal.
   */
  send(token: string, signal: AbortSignal, requestId?: string): Promise<string>
  close(): Promise<void>
}

const NO_HEADERS: readonly string[] = []
/** Maximum size of a response. A typical response has a few hundred bytes. */
const RESPONSE_LIMIT_BYTES = 64 * 1024

/**
 * Opens connections to an issuer as a confidential client (`client_secret_post`). Does not follow redirects.
 * Source: RFC 7662 section 2.
 */
export function openIntrospectionTransport(options: IntrospectionTransportOptions): IntrospectionTransport {
  const endpoint = new URL(options.endpoint)
  const { accept, tracing, sendsRequestId = false } = options
  const attributes = {
    'http.request.method': 'POST',
    'server.address': endpoint.hostname,
    'url.path': endpoint.pathname,
  }
  const pool = new Pool(endpoint.origin, {
    connections: options.connections,
    pipelining: 1,
    headersTimeout: 0, // the deadline of the signal covers the whole request
    bodyTimeout: 0,
    connect: issuerTls(options.ca),
  })
  const currentSecret = (): string => options.followedSecret?.current ?? options.clientSecret
  let credentials = toCredentials(currentSecret())

  function toCredentials(secret: string) {
    const form = { token_type_hint: 'access_token', client_id: options.clientId, client_secret: secret }
    return { secret, form: new URLSearchParams(form).toString() }
  }

  async function sendOnce(token: string, signal: AbortSignal, requestId?: string): Promise<string> {
    const headers = sendsRequestId && requestId !== undefined ? ['x-request-id', requestId] : NO_HEADERS
    const secret = currentSecret()
    if (credentials.secret !== secret) credentials = toCredentials(secret)
    const { form } = credentials
    try {
      return await sendForm(`token=${encodeURIComponent(token)}&${form}`, signal, headers)
    } catch (error) {
      // The file of the secret may have changed just before the request.
      if (!isCredentialsError(error) || !(await options.followedSecret?.refresh(secret))) throw error
    }
    credentials = toCredentials(currentSecret())
    return await sendForm(`token=${encodeURIComponent(token)}&${credentials.form}`, signal, headers)
  }

  /** Sends the form in a span below the request of the client. The span does not contain the form. */
  function sendForm(form: string, signal: AbortSignal, headers: readonly string[]): Promise<string> {
    if (tracing === undefined) return sendBody(form, signal, headers)
    return tracing.observe('POST introspection', attributes, () => {
      const span = tracing.current()
      return sendBody(form, signal, span === undefined ? headers : addTraceHeaders([...headers], span))
    })
  }

  async function sendBody(form: string, signal: AbortSignal, added: readonly string[]): Promise<string> {
    const { status, mediaType, text } = await postForm(pool, endpoint, {
      form,
      headers: ['accept', accept, ...added],
      limitBytes: RESPONSE_LIMIT_BYTES,
      signal,
    })
    if (status !== 200) throw statusError(status, text)
    if (text === undefined)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_RESPONSE',
        "The issuer's response is larger than 64 KiB.",
      )
    // Rejects a response of another media type, for example a web page. If a signature is required, rejects an unsigned
    // response.
    if (mediaType !== accept)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_RESPONSE',
        `The content-type of the issuer's response must be ${accept}.`,
      )
    return text
  }

  return {
    async send(token, signal, requestId) {
      try {
        return await sendOnce(token, signal, requestId)
      } catch (error) {
        if (!isConnectionError(error, signal)) throw explain(error, signal)
      }
      // Introspection changes no data, so a second request is safe. The issuer may have closed an idle connection just
      // before the first request.
      try {
        return await sendOnce(token, signal, requestId)
      } catch (error) {
        throw explain(error, signal)
      }
    },
    close: () => pool.destroy(),
  }
}

/** Error codes that concern the client, not the token. RFC 6749 section 5.2 permits these codes with status 400. */
const CLIENT_ERRORS: ReadonlySet<unknown> = new Set(['invalid_client', 'unauthorized_client'])

function statusError(status: number, text: string | undefined): IntrospectionError {
  const member = status === 400 ? parseJsonObject(text ?? '')?.get('error') : undefined
  const oauthError = typeof member === 'string' ? member : undefined
  if (status === 401 || status === 403 || CLIENT_ERRORS.has(oauthError))
    return new IntrospectionError(
      'ERR_INTROSPECTION_CREDENTIALS',
      `The issuer rejects the gateway's client credentials (status ${status}).`,
    )
  const message = `The issuer responded with status ${status}.`
  return new IntrospectionError('ERR_INTROSPECTION_STATUS', message, { status, oauthError })
}

function isCredentialsError(error: unknown): boolean {
  return error instanceof IntrospectionError && error.code === 'ERR_INTROSPECTION_CREDENTIALS'
}

/**
 * Returns whether a retry is useful. Returns false for an error of this module, for the deadline, and for a response
 * that is not HTTP.
 */
function isConnectionError(error: unknown, signal: AbortSignal): boolean {
  return !(error instanceof IntrospectionError) && !signal.aborted && !isNotHttp(error)
}

function isNotHttp(error: unknown): boolean {
  return error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError
}

function explain(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof IntrospectionError) return error
  if (signal.aborted) return signal.reason
  if (isNotHttp(error))
    return new IntrospectionError('ERR_INTROSPECTION_RESPONSE', "The issuer's response is not HTTP.", {
      cause: error,
    })
  return new IntrospectionError('ERR_INTROSPECTION_CONNECTION', 'The connection to the issuer failed.', {
    cause: error,
  })
}
