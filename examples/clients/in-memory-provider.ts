import { randomBytes } from 'node:crypto'
import type {
  OAuthClientInformationMixed,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
} from '@modelcontextprotocol/client'

/** In-memory OAuth state of the official SDK, and the `state` that the redirect must return. */
export type InMemoryProvider = OAuthClientProvider & {
  /** `state` of the last authorization request. The SDK does not compare this value. RFC 6749 section 10.12. */
  readonly lastState: string
}

/** Creates a provider for a public client with one redirect URI. `sendTo` opens a page for the person. */
export function createInMemoryProvider(options: {
  readonly clientName: string
  readonly redirectUrl: string
  readonly sendTo: (address: URL) => void
  /** Receives every token response. */
  readonly onTokens?: (tokens: OAuthTokens) => void
  readonly onVerifier?: (verifier: string) => void
}): InMemoryProvider {
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
    // The authorization server of the request. The SDK compares the issuer of the response with this server. RFC 9207.
    saveDiscoveryState: (discovered) => {
      discovery = discovered
    },
    discoveryState: () => discovery,
  }
}
