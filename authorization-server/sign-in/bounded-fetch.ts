import { ProviderError } from './provider-error.ts'

const TIMEOUT_MS = 5_000
const MAX_BYTES = 256 * 1024

/**
 * Sends a request to a provider. Reads the complete response, so that the limits also apply to its body. The size limit
 * counts the bytes after decompression.
 * @param options method, headers and body, as `openid-client` passes them to its `customFetch`.
 * @throws {ProviderError} `unavailable` for a failed connection, no response within five seconds, or status 5xx.
 * `invalid` for a redirect or a response above 256 KiB.
 */
export async function boundedFetch(url: string, options: object): Promise<Response> {
  try {
    const response = await fetch(url, {
      ...options,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const { status } = response
    if (status >= 300 && status < 400) {
      await response.body?.cancel()
      throw new ProviderError('invalid', `redirect ${status}`)
    }
    const content = await readBody(response)
    if (status >= 500) throw new ProviderError('unavailable', `status ${status}`)
    return new Response(content.length === 0 ? null : content, { status, headers: response.headers })
  } catch (error) {
    if (error instanceof ProviderError) throw error
    throw new ProviderError('unavailable', describe(error), { cause: error })
  }
}

async function readBody(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    // The throw ends the iteration, which cancels the body.
    if (size > MAX_BYTES) throw new ProviderError('invalid', 'response above 256 KiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Returns the kind of a failure: the message of an error can contain values of the provider. */
function describe(error: unknown): string {
  const { name = 'Error', cause } = error as { readonly name?: string; readonly cause?: unknown }
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : name
}
