import { Pool } from 'undici'
import { IntrospectionError } from './introspection-error.ts'
import { issuerTls } from './issuer-tls.ts'
import { readIntrospection } from './read-introspection.ts'
import { readLimited } from './read-limited.ts'
import { createScopeSets } from './scope-sets.ts'
import type { Verdict } from './verdict.ts'

/** Whom to ask about tokens, and as whom. `nowSeconds` is the wall clock, in seconds since the epoch. */
export type IntrospectionOptions = {
  readonly issuer: string
  /** Where to ask; never taken from a token or a request. */
  readonly endpoint: string
  readonly clientId: string
  readonly clientSecret: string
  /** From the question to the last byte of the answer, queueing included. Milliseconds. */
  readonly timeoutMs: number
  readonly nowSeconds: () => number
  /** The authorities that vouch for the issuer, in PEM; undefined: the public ones. */
  readonly ca: string | undefined
}

/** Asks one issuer about tokens. */
export type Introspector = {
  introspect(token: string): Promise<Verdict>
  close(): Promise<void>
}

/** An answer is some hundred bytes; what is larger is not one. */
const RESPONSE_LIMIT_BYTES = 64 * 1024
/** Questions on the way to the issuer at once; more wait for a connection, within their deadline. */
const CONNECTIONS = 64

/**
 * Asks an issuer whether tokens are active, as a confidential client (`client_secret_post`).
 * Source: RFC 7662 section 2. Cost: one HTTP request for each call, at most `timeoutMs` milliseconds. No redirects.
 * `introspect` throws {IntrospectionError}: ERR_INTROSPECTION_TIMEOUT, _CONNECTION, _CREDENTIALS, _STATUS, _RESPONSE.
 */
export function createIntrospector(options: IntrospectionOptions): Introspector {
  const endpoint = new URL(options.endpoint)
  const pool = new Pool(endpoint.origin, {
    connections: CONNECTIONS,
    pipelining: 1,
    headersTimeout: 0, // one deadline covers all of it
    bodyTimeout: 0,
    connect: issuerTls(options.ca),
  })
  const scopes = createScopeSets()
  const credentials = new URLSearchParams({
    token_type_hint: 'access_token',
    client_id: options.clientId,
    client_secret: options.clientSecret,
  }).toString()

  return {
    async introspect(token) {
      const text = await ask(pool, {
        path: endpoint.pathname + endpoint.search,
        body: `token=${encodeURIComponent(token)}&${credentials}`,
        timeoutMs: options.timeoutMs,
      })
      return readIntrospection(parseJson(text), {
        issuer: options.issuer,
        nowSeconds: options.nowSeconds(),
        scopes,
      })
    },
    close: () => pool.destroy(),
  }
}

async function ask(
  pool: Pool,
  question: { readonly path: string; readonly body: string; readonly timeoutMs: number },
): Promise<string> {
  const signal = AbortSignal.timeout(question.timeoutMs)
  try {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: question.path,
      headers: ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'],
      body: question.body,
      signal,
    })
    const text = await readLimited(body, RESPONSE_LIMIT_BYTES)
    if (text === undefined)
      throw new IntrospectionError('ERR_INTROSPECTION_RESPONSE', 'The issuer answered with more than 64 KiB.')
    if (statusCode === 401 || statusCode === 403)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_CREDENTIALS',
        `The issuer refuses the gateway's client credentials (status ${statusCode}).`,
      )
    if (statusCode !== 200)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_STATUS',
        `The issuer answered with status ${statusCode}.`,
      )
    return text
  } catch (error) {
    if (error instanceof IntrospectionError) throw error
    if (signal.aborted)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_TIMEOUT',
        `The issuer gave no answer within ${question.timeoutMs} ms.`,
        { cause: error },
      )
    throw new IntrospectionError('ERR_INTROSPECTION_CONNECTION', 'The connection to the issuer failed.', {
      cause: error,
    })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // The parser's message quotes the text, which may hold claims: the cause is not kept.
    void error
    throw new IntrospectionError('ERR_INTROSPECTION_RESPONSE', 'The issuer did not answer with JSON.')
  }
}
