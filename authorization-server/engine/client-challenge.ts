/**
 * The challenge of a 401 to a client that did not authenticate. RFC 9110 section 11.6.1 asks for one; the method has no
 * registered scheme, so it is named by its own name, and no browser opens a password dialogue for it.
 */
export function clientChallenge(issuer: string): string {
  return `client_secret_post realm="${issuer}", error="invalid_client"`
}
