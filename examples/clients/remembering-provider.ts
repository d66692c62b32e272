import { randomBytes } from 'node:crypto'
import type {
  OAuthClientInformationMixed,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
} from '@modelcontextprotocol/client'

/** What the official SDK has kept for a client as long as the process lives, and the state that a redirect has to bring back. */
export type RememberingProvider = OAuthClientProvider & {
  /** Of the last authorization request; the SDK does not compare it. RFC 6749 section 10.12. */
  readonly lastState: string
}

/** A public client with one redirect address; `sendTo` leads the person to a page. */
export function rememberingProvider(options: {
  readonly clientName: string
  readonly redirectUrl: string
  readonly sendTo: (address: URL) => void
  /** Told of every token that comes. */
  readonly onTokens?: (tokens: OAuthTokens) => void
  readonly onVerifier?: (verifier: string) => void
}): RememberingProvider {
  const { clientName, redirectUrl } = options
  let client: OAuthClientInformationMixed | undefined
  let tokens: OAuthTokens | undefined
  let discovery: OAuthDiscoveryState | undefined
  let codeVerifier = ''
  let lastState = ''
  return {
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
    },
    state() {
      lastState = randomBytes(16).toString('base64url')
      return lastState
    },
    get lastState() {
      return lastState
    },
    clientInformation: () => client,
    saveClientInformation: (registered) => {
      client = registered
    },
    tokens: () => tokens,
    saveTokens: (issued) => {
      tokens = issued
      options.onTokens?.(issued)
    },
    redirectToAuthorization: options.sendTo,
    saveCodeVerifier: (verifier) => {
      codeVerifier = verifier
      options.onVerifier?.(verifier)
    },
    codeVerifier: () => codeVerifier,
    // Which server the person was sent to: its answer is held against it. RFC 9207.
    saveDiscoveryState: (discovered) => {
      discovery = discovered
    },
    discoveryState: () => discovery,
  }
}
