import { hashClientSecret, matchesClientSecret } from '../engine/client-secret.ts'

/**
 * Makes the check of client credentials in a form against the integrations of the operator. Every other client is anonymous,
 * also with a secret: anybody can register one.
 * @returns the id of the integration, or undefined.
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
