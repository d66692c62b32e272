import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { readLimited } from '../../platform/net/read-limited.ts'
import type { ResolveName } from '../../platform/net/resolve-name.ts'
import { ClientDocumentError } from './client-document-error.ts'

/** Access to the network for client documents. Tests replace this object. */
export type DocumentNetwork = {
  readonly resolve: ResolveName
  /** Returns whether the server may connect to an address. */
  readonly isPermitted: (address: string) => boolean
  /** CA certificates in PEM. Undefined: the public CA certificates. */
  readonly ca: string | undefined
  /** Time limit of a fetch: wait for a slot, lookup, connection and complete response. Milliseconds. */
  readonly timeoutMs: number
}

export type FetchedDocument = {
  readonly text: string
  /** Time for which the response is fresh. Seconds. Undefined: the response does not contain this time. */
  readonly freshSeconds: number | undefined
}

/** Largest client document. Bytes. */
const LIMIT_BYTES = 65_536
const MAX_HEADER_BYTES = 16_384
/** Largest number of interim responses (status 1xx), which no other limit covers. */
const MAX_INTERIM_RESPONSES = 10

/**
 * Fetches a client document with one GET, without redirects, compression, cookies and credentials.
 * The name is resolved once. All its addresses must be permitted. The connection uses only these addresses, so a later
 * change of the name has no effect.
 * @param signal aborts the fetch at any step, from the lookup to the last byte of the response.
 * @throws {ClientDocumentError} when the server cannot fetch the document.
 */
export async function fetchClientDocument(
  url: URL,
  network: Omit<DocumentNetwork, 'timeoutMs'>,
  signal: AbortSignal,
): Promise<FetchedDocument> {
  // Node does not call `lookup` for an IP address, so the check of addresses would not run.
  if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) throw new ClientDocumentError('forbidden_address')
  try {
    const response = await send(url, {
      agent: false, // a new connection, which no proxy setting of the environment affects
      lookup: permittedLookup(network),
      signal,
      maxHeaderSize: MAX_HEADER_BYTES,
      rejectUnauthorized: true, // regardless of NODE_TLS_REJECT_UNAUTHORIZED
      ...(network.ca === undefined ? {} : { ca: network.ca }),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        connection: 'close',
        'user-agent': 'scopegate',
      },
    })
    try {
      const document = await readResponse(response)
      signal.throwIfAborted() // after an abort, a body without a length looks complete
      return document
    } finally {
      response.destroy()
    }
  } catch (error) {
    if (error instanceof ClientDocumentError) throw error
    throw new ClientDocumentError(signal.aborted ? 'timeout' : 'connection', { cause: error })
  }
}

function send(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interimResponses = 0
    const sent = request(url, options)
    sent
      .on('response', (response) => {
        response.on('error', () => undefined) // the reader of the response gets the error
        resolve(response)
      })
      .on('error', reject)
      .on('information', () => {
        interimResponses += 1
        if (interimResponses <= MAX_INTERIM_RESPONSES) return
        // Rejects first, because the parser can still emit the response that follows in the same bytes.
        reject(new Error('too many interim responses'))
        sent.destroy()
      })
      // Status 101 closes the connection without an error event.
      .on('close', () => reject(new Error('the connection closed before the response')))
      .end()
  })
}

/** Returns a lookup that fails if one of the addresses is not permitted. */
function permittedLookup({
  resolve,
  isPermitted,
}: Pick<DocumentNetwork, 'resolve' | 'isPermitted'>): LookupFunction {
  return (hostname, options, callback) => {
    const give = (addresses: Awaited<ReturnType<ResolveName>>): void => {
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => isPermitted(address)))
        callback(new ClientDocumentError('forbidden_address'), '', 0)
      else if (options.all === true) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    }
    resolve(hostname).then(give, (error) => callback(error, '', 0))
  }
}

/** Statuses that an overloaded host, or a filter in front of the host, sends instead of an existing document. */
const UNAVAILABLE_STATUS: readonly number[] = [403, 429]

async function readResponse(response: IncomingMessage): Promise<FetchedDocument> {
  const { headers } = response
  const { statusCode = 0 } = response
  if (UNAVAILABLE_STATUS.includes(statusCode) || statusCode >= 500)
    throw new ClientDocumentError('unavailable')
  if (statusCode !== 200) throw new ClientDocumentError('status')
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new ClientDocumentError('content_encoding')
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) throw new ClientDocumentError('content_type')
  const text = await readLimited(response, LIMIT_BYTES)
  if (text === undefined) throw new ClientDocumentError('too_large')
  return { text, freshSeconds: readFreshness(headers) }
}

/** `application/json`, or a structured syntax such as `application/client-metadata+json`. RFC 6839 section 3.1. */
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json\s*(?:;|$)/i

/** Returns the time for which a shared cache may use the response. RFC 9111 section 4.2. Seconds. */
function readFreshness(headers: IncomingMessage['headers']): number | undefined {
  const control = headers['cache-control'] ?? ''
  const ageSeconds = Number(headers.age ?? 0)
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,])/i.test(control)) return 0
  const ages = ['s-maxage', 'max-age'].map((name) =>
    new RegExp(`(?:^|[\\s,])${name}="?(\\d{1,10})"?(?:$|[\\s,])`, 'i').exec(control),
  )
  const seconds = (ages[0] ?? ages[1])?.[1]
  if (seconds !== undefined) return Math.max(0, Number(seconds) - ageSeconds || 0)
  if (headers.expires === undefined) return undefined
  const lifetimeMs = Date.parse(headers.expires) - Date.parse(headers.date ?? '')
  return Math.max(0, Math.floor(lifetimeMs / 1_000) - ageSeconds || 0)
}
