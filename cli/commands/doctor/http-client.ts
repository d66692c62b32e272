import { Agent, request } from 'undici'
import { isRecord } from '../../../platform/diagnostics/record.ts'

export type HttpResponse = {
  readonly url: string
  readonly status: number
  /** Returns the value of a header by its lower-case name. Joins the values of a repeated header with commas. */
  header(name: string): string | undefined
  readonly text: string
  /** The body when it is a JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined
}

/** A request without a response. `failed` is the reason as text. */
export type HttpFailure = { readonly url: string; readonly failed: string }

export type HttpRequest = {
  readonly method?: 'GET' | 'POST' | 'OPTIONS'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends HTTP requests. Never throws, follows no redirect, and limits the size of a response. */
export type HttpClient = {
  send(url: string, request?: HttpRequest): Promise<HttpResponse | HttpFailure>
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024

/** Creates a client. `authority` contains CA certificates as PEM, which replace the public CA certificates. */
export function createHttpClient(authority: string | undefined): HttpClient {
  const agent = new Agent({
    connect: { timeout: TIMEOUT_MS, ...(authority === undefined ? {} : { ca: authority }) },
  })
  return {
    async send(url, { method = 'GET', headers = {}, body } = {}) {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      try {
        const response = await request(url, {
          method,
          headers: { 'user-agent': 'scopegate-doctor', accept: 'application/json, */*;q=0.1', ...headers },
          body: body ?? null,
          dispatcher: agent,
          signal,
        })
        const text = await readText(response.body)
        if (text === undefined) return { url, failed: `the response is longer than ${MAX_BYTES} bytes` }
        return {
          url,
          status: response.statusCode,
          header: (name) => {
            const value = response.headers[name]
            return Array.isArray(value) ? value.join(', ') : value
          },
          text,
          json: readObject(text),
        }
      } catch (error) {
        return { url, failed: signal.aborted ? `no response within ${TIMEOUT_MS / 1000} s` : explain(error) }
      }
    },
    close: () => agent.destroy(),
  }
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > MAX_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no service listens on this address (connection refused)',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the host name has no address',
  EAI_AGAIN: 'the host name cannot be resolved now',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed; name its CA with --ca',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is from an unknown CA; name the CA with --ca',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is from an unknown CA; name the CA with --ca',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is from an unknown CA; name the CA with --ca',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
}

function explain(error: unknown): string {
  const code = codeOf(error)
  const reason = code === undefined ? undefined : REASONS[code]
  if (reason !== undefined) return reason
  const message = error instanceof Error ? error.message : String(error)
  return code === undefined ? message : `${message} (${code})`
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  return codeOf(error.cause)
}
