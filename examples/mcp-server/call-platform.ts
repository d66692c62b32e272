/** What the platform said, or why it said nothing. */
export type PlatformAnswer =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly why: string }

/** One request to the learning platform. */
export type PlatformCall = {
  readonly method: 'GET' | 'POST'
  /** Below the platform's address, with its query. */
  readonly path: string
  readonly body?: unknown
}

/** Asks the learning platform in the name of a caller. Never throws. */
export type CallPlatform = (call: PlatformCall) => Promise<PlatformAnswer>

const TIMEOUT_MS = 5_000

/**
 * Calls the platform for whoever the gateway vouches for: the assertion that came with the request is passed on, and the
 * platform verifies it. The caller's access token never gets here, so there is none to pass on.
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
      const answer: unknown = await response.json()
      return response.ok ? { ok: true, body: answer } : { ok: false, why: describe(response.status, answer) }
    } catch {
      return { ok: false, why: 'The learning platform gives no answer. Try again in a moment.' }
    }
  }
}

function describe(status: number, answer: unknown): string {
  const said = (answer as { error_description?: unknown } | null)?.error_description
  return typeof said === 'string' ? said : `The learning platform answered ${status}.`
}
