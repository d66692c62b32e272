import type { AuthorizationServerConfig } from '../config.ts'
import { readSecretFile } from './create-file-once.ts'
import { loadGatewaySecret } from './gateway-secret.ts'
import { loadCookieKeys } from './load-cookie-keys.ts'
import { loadSigningKeys, type SigningKeys } from './signing-keys.ts'

/** All secrets that the process holds in memory. */
export type Secrets = {
  readonly gatewaySecret: string
  readonly signingKeys: SigningKeys
  /** Newest first. */
  readonly cookieSecrets: readonly string[]
  readonly integrations: readonly {
    readonly clientId: string
    readonly clientName: string
    readonly redirectUris: readonly string[]
    /** Absent: a public client. */
    readonly clientSecret: string | undefined
  }[]
}

/**
 * Reads every secret. Creates missing ones where the configuration allows it.
 * @throws {BootError} like the loaders of each kind.
 */
export async function loadSecrets(config: AuthorizationServerConfig): Promise<Secrets> {
  return {
    gatewaySecret: await loadGatewaySecret({
      file: config.gatewayClient.secretFile,
      development: config.development,
    }),
    signingKeys: await loadSigningKeys(config),
    cookieSecrets: await loadCookieKeys(config),
    integrations: await Promise.all(
      config.integrations.map(async (integration) => ({
        clientId: integration.clientId,
        clientName: integration.clientName,
        redirectUris: integration.redirectUris,
        clientSecret:
          integration.clientSecretFile === undefined
            ? undefined
            : (await readSecretFile(integration.clientSecretFile, 'integrations[].clientSecretFile')).trim(),
      })),
    ),
  }
}
