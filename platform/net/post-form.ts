import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { readLimited } from './read-limited.ts'

/** The response to a form. `text` is undefined if the body is larger than the limit. */
export type FormResponse = {
  readonly status: number
  /** The media type in lower case, without parameters. */
  readonly mediaType: string | undefined
  readonly text: string | undefined
}

/**
 * Sends a form, and reads the response up to a limit. Does not follow redirects. The signal limits the time of the
 * whole request.
 */
export async function postForm(
  dispatcher: Dispatcher,
  endpoint: URL,
  request: {
    readonly form: string
    /** Name, value, name, value. */
    readonly headers: readonly string[]
    readonly limitBytes: number
    readonly signal: AbortSignal
  },
): Promise<FormResponse> {
  const { statusCode, headers, body } = await dispatcher.request({
    origin: endpoint.origin,
    method: 'POST',
    path: endpoint.pathname + endpoint.search,
    headers: ['content-type', 'application/x-www-form-urlencoded', ...request.headers],
    body: request.form,
    signal: request.signal,
  })
  const contentType = headers['content-type']
  return {
    status: statusCode,
    mediaType:
      typeof contentType === 'string' ? contentType.split(';', 1)[0]?.trim().toLowerCase() : undefined,
    text: await readLimited(body as Readable, request.limitBytes),
  }
}
