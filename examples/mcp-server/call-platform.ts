/** The response of the platform, or the reason why no response arrived. */
export type PlatformResult =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly why: string }

export type PlatformCall = {
  readonly method: 'GET' | 'POST'
  /** Path and query below the URL of the platform. */
  readonly path: string
  readonly body?: unknown
}

/** Calls the learning platform for a caller. Never throws. */
export type CallPlatform = (call: PlatformCall) => Promise<PlatformResult>

const TIMEOUT_MS = 5_000

/**
 * Creates a function that calls the platform for the caller of the gateway. The function forwards the assertion of the
 * request, and the platform verifies the assertion. The tools never have the caller's access token, because the gateway
 * does not forward it.
 */
export function platformFor(platformUrl: URL, assertion: string | undefined): CallPlatform {
  return async ({ method, path, body }) => {
    try {
      const response = await fetch(new URL(path, platformUrl), {
        method,
        headers: {
          accept: 'application/json',
          ...(assertion === undefined ? {} : { 'x-auth-assertion': assertion }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      const content: unknown = await response.json()
      return response.ok
        ? { ok: true, body: content }
        : { ok: false, why: describe(response.status, content) }
    } catch {
      return { ok: false, why: 'The learning platform is unavailable. Try again in a moment.' }
    }
  }
}

function describe(status: number, content: unknown): string {
  const reason = (content as { error_description?: unknown } | null)?.error_description
  return typeof reason === 'string' ? reason : `The learning platform responded with status ${status}.`
}
