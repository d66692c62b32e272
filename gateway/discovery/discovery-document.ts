import { hash } from 'node:crypto'

/** A document that the gateway serves itself, ready to send. */
export type Representation = {
  /** Names and values alternate. Includes `content-length` and `etag`. */
  readonly headers: readonly string[]
  readonly body: string
  readonly etag: string
  /** Default: 200. */
  readonly status?: 404 | 308
}

/**
 * Returns the representation to send. `accept` is the `Accept` header of the request. `params` are the values of the
 * parameters in the path.
 */
export type GatewayDocument = (
  accept: string | undefined,
  params?: Readonly<Record<string, string>>,
) => Representation

/** Creates a document on the first request for this document. The document never changes afterwards. */
export function createLazily(write: () => Representation): GatewayDocument {
  let written: Representation | undefined
  return () => {
    written ??= write()
    return written
  }
}

/**
 * The documents are public and equal for all clients, so caches and browsers may store the documents. Source:
 * docs/interface.md section 4.2.
 */
const SHARED = 'public, max-age=300'

/** Creates a redirect to another path of the gateway. The redirect can change as often as a document. */
export function redirect(path: string): Representation {
  const found = representation('text/plain; charset=utf-8', `See ${path}\n`, ['location', path])
  return Object.freeze({ ...found, status: 308 })
}

/** Creates a representation with all headers, so the gateway computes no header of a document during a request. */
export function representation(
  contentType: string,
  body: string,
  extraHeaders: readonly string[] = [],
  cacheControl: 'no-store' | typeof SHARED = SHARED,
): Representation {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  return Object.freeze({
    headers: [
      'content-type',
      contentType,
      'content-length',
      String(Buffer.byteLength(body)),
      'etag',
      etag,
      'cache-control',
      cacheControl,
      'x-content-type-options',
      'nosniff',
      ...extraHeaders,
    ],
    body,
    etag,
  })
}
