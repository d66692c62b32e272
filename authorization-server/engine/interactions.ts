import type { IncomingMessage, ServerResponse } from 'node:http'

/** An authorization request that waits for the person at the browser. */
export type Interaction = {
  /**
   * Identifies the interaction in the URL of the page. Without the interaction cookie of the browser, the id gives no
   * access.
   */
  readonly uid: string
  readonly prompt: 'sign-in' | 'consent'
  readonly client: {
    readonly id: string
    /** Name from the registration of the client. The name is untrusted: show it as text only. */
    readonly name: string | undefined
    /** True for configured integrations. False for all other clients. */
    readonly verified: boolean
    /** Host of the client document, which identifies the client. Undefined: the client has no document. */
    readonly documentHost?: string | undefined
  }
  readonly redirectUri: string
  /** The requested scopes that the catalogue contains, in the order of the request, without duplicates. */
  readonly scopes: readonly string[]
  /** The requested resources (RFC 8707); never empty. */
  readonly resources: readonly string[]
  readonly accountId: string | undefined
  /**
   * The session of this browser, if the request needs only a sign-in of another class. Undefined if the person must
   * sign in again.
   */
  readonly stepUp?:
    | {
        readonly accountId: string
        readonly signedInSeconds: number | undefined
        /** See {@link Authentication.endMark}. */
        readonly endMark: string
      }
    | undefined
  /** The `login_hint` of the client: untrusted text. OpenID Connect Core 1.0 section 3.1.2.1. */
  readonly loginHint: string | undefined
  /** The authentication that the client requests. OpenID Connect Core 1.0 section 3.1.2.1. */
  readonly requested: {
    readonly prompt: readonly string[]
    readonly maxAgeSeconds: number | undefined
    readonly acrValues: string | undefined
    readonly uiLocales: string | undefined
  }
}

/** How and when a person authenticated. RFC 9068 section 2.2.1. */
export type Authentication = {
  readonly acr?: string | undefined
  readonly amr?: readonly string[] | undefined
  /** Default: now. */
  readonly authTimeSeconds?: number | undefined
  /** End mark of the account, from a read before the check of the credentials. See `readEndMark()`. */
  readonly endMark: string
}

/**
 * Operations of the sign-in and consent pages. All operations except `read()` return the URL for the redirect. After a
 * posted password, redirect with 303, never with 307: after a 307, the browser would send the password again. RFC 9700
 * section 4.12.
 */
export type Interactions = {
  /**
   * Reads the interaction that the cookie and the path of the request identify.
   * @throws {InteractionError} ERR_INTERACTION_EXPIRED, ERR_INTERACTION_OTHER_BROWSER, ERR_INTERACTION_CLIENT_DOCUMENT.
   */
  read(request: IncomingMessage, response: ServerResponse): Promise<Interaction>
  /**
   * Signs the person in as `accountId` and starts a new session, which prevents session fixation. At the consent step,
   * another person can sign in.
   * @returns the URL for the redirect, and the account whose session in this browser ended.
   */
  signedIn(
    request: IncomingMessage,
    response: ServerResponse,
    accountId: string,
    authentication: Authentication,
  ): Promise<{ readonly address: string; readonly signedOut: string | undefined }>
  /**
   * Grants `grantedScopes`, a subset of the requested scopes, and `openid` if the client requested it. Each
   * authorization creates a new grant. The revocation of one grant therefore leaves the other grants of the client
   * valid.
   */
  consented(
    request: IncomingMessage,
    response: ServerResponse,
    grantedScopes: readonly string[],
  ): Promise<string>
  /** Denies the request: the client gets `access_denied` with its `state` and the `iss` of this server. */
  denied(request: IncomingMessage, response: ServerResponse): Promise<string>
}

export type InteractionErrorCode =
  /** The interaction expired or is already finished. */
  | 'ERR_INTERACTION_EXPIRED'
  /** Another browser started the interaction in the URL. */
  | 'ERR_INTERACTION_OTHER_BROWSER'
  /** The server cannot fetch the document of the client any more, or does not accept the document. */
  | 'ERR_INTERACTION_CLIENT_DOCUMENT'
  /** The step is not allowed now: consent before sign-in, or scopes that the client did not request. */
  | 'ERR_INTERACTION_STEP'

export class InteractionError extends Error {
  readonly code: InteractionErrorCode

  constructor(code: InteractionErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'InteractionError'
    this.code = code
  }
}
