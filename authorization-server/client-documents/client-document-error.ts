/** Reason to reject a client document. Metrics use the reason as a label. */
export type ClientDocumentReason = keyof typeof DESCRIPTIONS

/** Texts for the developer of the client. The texts contain no value of a response and no address. */
const DESCRIPTIONS = {
  not_listed: 'this server accepts client documents only from the hosts that its operator listed',
  invalid_url: 'client_id must be the canonical https URL of a client document',
  forbidden_address: 'the host of the client document must have public addresses only',
  connection: 'the connection to the host of the client document failed',
  timeout: 'the host of the client document did not send the document in time',
  busy: 'the server fetches too many client documents; try again',
  unavailable: 'the host of the client document responded with status 403, 429 or 5xx',
  status: 'the host of the client document did not respond with status 200; redirects are not followed',
  content_type: 'the content type of the client document must be application/json',
  content_encoding: 'the client document must not be compressed',
  too_large: 'the client document must be at most 64 KiB',
  not_json: 'the client document must be a JSON object without repeated members',
  client_id: 'client_id in the client document must be equal to the URL of the document',
  client_secret: 'a client document must not have a client secret',
  client_authentication: 'token_endpoint_auth_method in the client document must be none',
  client_name: 'client_name in the client document must be a text of 1 to 200 characters',
  redirect_uris:
    'redirect_uris in the client document must be a list of 1 to 50 URIs, each of at most 1024 characters',
  no_redirect_uri:
    'redirect_uris in the client document must have an https URI of the same host, or a loopback URI',
  grant_types: 'grant_types in the client document must contain authorization_code',
  response_types: 'response_types in the client document must contain code',
} as const

/** Error for a client document that the server cannot fetch or does not accept. */
export class ClientDocumentError extends Error {
  readonly reason: ClientDocumentReason

  constructor(reason: ClientDocumentReason, options?: { readonly cause?: unknown }) {
    super(DESCRIPTIONS[reason], options)
    this.name = 'ClientDocumentError'
    this.reason = reason
  }
}
