import { hashClientSecret, matchesClientSecret } from '../engine/client-secret.ts'

/**
 * Creates a function that checks the client credentials of a form against the configured integrations.
 * It treats every other client as anonymous, even with a secret, because anyone can register a client.
 * @returns a function that returns the id of the integration, or undefined.
 */
export function authenticateIntegration(
  integrations: readonly { readonly clientId: string; readonly clientSecret: string | undefined }[],
): (form: URLSearchParams) => string | undefined {
  const secrets = new Map(
    integrations.map(({ clientId, clientSecret }) => [
      clientId,
      clientSecret === undefined ? undefined : hashClientSecret(clientSecret),
    ]),
  )
  return (form) => {
    const clientId = form.get('client_id') ?? ''
    return matchesClientSecret(form.get('client_secret') ?? '', secrets.get(clientId)) ? clientId : undefined
  }
}
