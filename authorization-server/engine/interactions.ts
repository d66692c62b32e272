import type { IncomingMessage, ServerResponse } from 'node:http'

/** An authorization request that waits for the person at the browser. */
export type Interaction = {
  /** Names the interaction in the page's address; worthless without the browser's interaction cookie. */
  readonly uid: string
  /** What the person has to do next. */
  readonly prompt: 'sign-in' | 'consent'
  readonly client: {
    readonly id: string
    /** As registered: untrusted text, to be shown as text only. */
    readonly name: string | undefined
    /** True for integrations that the operator listed; false for clients that registered themselves. */
    readonly verified: boolean
  }
  readonly redirectUri: string
  /** What the client asks for, in its order, each once. */
  readonly scopes: readonly string[]
  /** The APIs that the token would be for (RFC 8707); never empty. */
  readonly resources: readonly string[]
  /** Who is signed in in this browser. */
  readonly accountId: string | undefined
  /** The client's `login_hint`: untrusted text. OpenID Connect Core 1.0 section 3.1.2.1. */
  readonly loginHint: string | undefined
}

/**
 * What the sign-in and consent pages see of the engine. Each answer gives the address to send the browser to,
 * with 303 (RFC 9700 section 4.12: never 307 after a password was posted).
 */
export type Interactions = {
  /**
   * Reads the interaction that the request's cookie and path name.
   * @throws {InteractionError} ERR_INTERACTION_EXPIRED, ERR_INTERACTION_OTHER_BROWSER.
   */
  read(request: IncomingMessage, response: ServerResponse): Promise<Interaction>
  /**
   * The person proved to be `accountId`; starts a new session (no fixation). Also at the consent step, when somebody
   * else takes over the browser.
   * @returns the address to send the browser to, and the account whose session in this browser ended.
   */
  signedIn(
    request: IncomingMessage,
    response: ServerResponse,
    accountId: string,
  ): Promise<{ readonly address: string; readonly signedOut: string | undefined }>
  /**
   * The person allows `grantedScopes` (a subset of what was asked for): a new grant per authorization, so that
   * revoking one authorization of a client leaves the others alone.
   */
  consented(
    request: IncomingMessage,
    response: ServerResponse,
    grantedScopes: readonly string[],
  ): Promise<string>
  /** The person refuses: the client gets `access_denied` with its `state` and our `iss`. */
  denied(request: IncomingMessage, response: ServerResponse): Promise<string>
}

/** Why an interaction cannot go on. */
export type InteractionErrorCode =
  /** It took too long, or was finished already. */
  | 'ERR_INTERACTION_EXPIRED'
  /** The address belongs to an interaction that another browser started. */
  | 'ERR_INTERACTION_OTHER_BROWSER'
  /** The step does not fit: consent before sign-in, or scopes that nobody asked for. */
  | 'ERR_INTERACTION_STEP'

/** A page was called outside a running interaction. */
export class InteractionError extends Error {
  readonly code: InteractionErrorCode

  constructor(code: InteractionErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'InteractionError'
    this.code = code
  }
}
