import { hash } from 'node:crypto'

/** A document that the gateway answers with itself, ready to send. */
export type Representation = {
  /** Name, value, name, value; `content-length` and `etag` included. */
  readonly headers: readonly string[]
  readonly body: string
  readonly etag: string
}

/** Chooses what to send. `accept` is the request's `Accept` header. */
export type OwnDocument = (accept: string | undefined) => Representation

/** A document that is written when somebody asks for it the first time, and is the same from then on. */
export function writtenOnDemand(write: () => Representation): OwnDocument {
  let written: Representation | undefined
  return () => {
    written ??= write()
    return written
  }
}

/** Public and the same for everybody, so caches and browsers may keep it. Source: clients.md section 1. */
const SHARED_HEADERS = ['cache-control', 'public, max-age=300', 'x-content-type-options', 'nosniff']

/** Prepares a document once, so that a request for it costs nothing but the sending. */
export function representation(
  contentType: string,
  body: string,
  extraHeaders: readonly string[] = [],
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
      ...SHARED_HEADERS,
      ...extraHeaders,
    ],
    body,
    etag,
  })
}
