import { join } from 'node:path'
import type { SecretFiles } from '../../platform/config/secret-files.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { AuthorizationServerConfig } from '../config.ts'
import { hashClientSecret, matchesAnySecret } from '../engine/client-secret.ts'
import {
  ADMIN_SETTING,
  parseAdminTokens,
  parseCanarySecrets,
  parseClientSecrets,
  parseCookieKeys,
  parseGatewaySecrets,
  type Secrets,
} from './load-secrets.ts'
import { findRisks, RISKS, signingKids } from './signing-key-risks.ts'
import { parseSigningKeys } from './signing-keys.ts'

/** The secrets of the server. The secrets change when their files change. */
export type LiveSecrets = {
  readonly current: Secrets
  /**
   * Returns the hashes of all accepted secrets of a configured client. Undefined: a public client, or a client that is
   * not configured.
   */
  clientSecretHashes(clientId: string): readonly string[] | undefined
  /**
   * Compares a secret with all accepted secrets of a configured client, in constant time. If no secret matches, reads
   * the file of the client again, because the client may have read a new secret first.
   * @returns undefined for a public client, and for a client that is not configured.
   */
  verifyClientSecret(clientId: string, presented: string): Promise<boolean> | undefined
  readGatewaySecrets(): Promise<void>
  readAdminTokens(): Promise<void>
  /** Returns the secrets of this server at an OpenID provider, newest first. */
  providerSecrets(name: string): readonly string[]
  /** Calls `listener` after each change. If the listener throws, the earlier secrets stay. */
  onChange(listener: (changed: keyof Secrets) => void): void
}

/**
 * Updates the secrets when their files change.
 * @param options.secrets the secrets at the start.
 */
export function followSecrets(
  config: Pick<
    AuthorizationServerConfig,
    | 'gatewayClient'
    | 'integrations'
    | 'canary'
    | 'signIn'
    | 'cookieKeysFile'
    | 'signingKeysFile'
    | 'accessTokens'
    | 'dataDir'
    | 'management'
  >,
  options: {
    readonly secrets: Secrets
    readonly files: Pick<SecretFiles, 'follow'>
    readonly logger: Pick<Logger, 'warn'>
  },
): LiveSecrets {
  const { files } = options
  const listeners: ((changed: keyof Secrets) => void)[] = []
  let current = options.secrets
  let hashes = hashSecrets(config, current)

  function change<Name extends keyof Secrets>(name: Name, value: Secrets[Name]): boolean {
    if (JSON.stringify(value) === JSON.stringify(current[name])) return false
    const earlier = current
    current = { ...current, [name]: value }
    hashes = hashSecrets(config, current)
    try {
      for (const listener of listeners) listener(name)
    } catch (error) {
      current = earlier
      hashes = hashSecrets(config, current)
      throw error
    }
    return true
  }
  const followed = new Map<string, { check(): Promise<void> }>()

  async function verify(clientId: string, presented: string): Promise<boolean> {
    if (matchesAnySecret(presented, hashes.get(clientId) ?? [])) return true
    await followed.get(clientId)?.check()
    return matchesAnySecret(presented, hashes.get(clientId) ?? [])
  }

  const gateway = files.follow({
    setting: 'gatewayClient.secretFile',
    file: config.gatewayClient.secretFile,
    apply(text) {
      const secrets = parseGatewaySecrets(text, config.gatewayClient.secretFile)
      return change('gatewaySecrets', secrets) ? { accepted: secrets.length } : undefined
    },
  })
  followed.set(config.gatewayClient.id, gateway)
  const cookieKeysFile = config.cookieKeysFile ?? join(config.dataDir, 'cookie-keys')
  files.follow({
    setting: 'cookieKeysFile',
    file: cookieKeysFile,
    apply(text) {
      const keys = parseCookieKeys(text, cookieKeysFile)
      return change('cookieSecrets', keys) ? { accepted: keys.length } : undefined
    },
  })
  const signingKeysFile = config.signingKeysFile ?? join(config.dataDir, 'signing-keys.json')
  let activeText: string | undefined
  files.follow({
    setting: 'signingKeysFile',
    file: signingKeysFile,
    apply(text) {
      if (text === activeText) return undefined // skips the test of each key
      const nowSeconds = Math.floor(Date.now() / 1_000)
      const needs = { algorithm: config.accessTokens.algorithm, nowSeconds }
      const keys = parseSigningKeys(text, signingKeysFile, needs)
      const warnings = findRisks(current.signingKeys, keys, nowSeconds)
      const isChanged = change('signingKeys', keys)
      activeText = text
      if (!isChanged) return undefined
      for (const { kid, reason } of warnings)
        options.logger.warn({ event: 'signing_keys_risk', file: signingKeysFile, kid, reason }, RISKS[reason])
      return { keys: keys.keys.length, signing: signingKids(keys, nowSeconds) }
    },
  })
  for (const [index, { clientId, clientSecretFile }] of config.integrations.entries()) {
    if (clientSecretFile === undefined) continue
    const setting = `integrations[${index}].clientSecretFile`
    const follower = files.follow({
      setting,
      file: clientSecretFile,
      apply(text) {
        const clientSecrets = parseClientSecrets(text, clientSecretFile, setting)
        const integrations = current.integrations.map((integration) =>
          integration.clientId === clientId ? { ...integration, clientSecrets } : integration,
        )
        return change('integrations', integrations) ? { accepted: clientSecrets.length } : undefined
      },
    })
    followed.set(clientId, follower)
  }
  const { canary } = config
  if (canary !== undefined) {
    const follower = files.follow({
      setting: 'canary.clientSecretFile',
      file: canary.clientSecretFile,
      apply(text) {
        const secrets = parseCanarySecrets(text, canary.clientSecretFile)
        return change('canarySecrets', secrets) ? { accepted: secrets.length } : undefined
      },
    })
    followed.set(canary.clientId, follower)
  }
  const { adminTokenFile } = config.management
  const admin =
    adminTokenFile === undefined
      ? undefined
      : files.follow({
          setting: ADMIN_SETTING,
          file: adminTokenFile,
          apply(text) {
            const tokens = parseAdminTokens(text, adminTokenFile)
            return change('adminTokens', tokens) ? { accepted: tokens.length } : undefined
          },
        })
  for (const [index, { name, clientSecretFile }] of config.signIn.providers.entries()) {
    const setting = `signIn.providers[${index}].clientSecretFile`
    files.follow({
      setting,
      file: clientSecretFile,
      apply(text) {
        const clientSecrets = parseClientSecrets(text, clientSecretFile, setting)
        const providers = current.providers.map((provider) =>
          provider.name === name ? { ...provider, clientSecrets } : provider,
        )
        return change('providers', providers) ? { accepted: clientSecrets.length } : undefined
      },
    })
  }
  return {
    get current() {
      return current
    },
    clientSecretHashes: (clientId) => hashes.get(clientId),
    verifyClientSecret: (clientId, presented) =>
      hashes.has(clientId) ? verify(clientId, presented) : undefined,
    readGatewaySecrets: () => gateway.check(),
    readAdminTokens: async () => admin?.check(),
    providerSecrets: (name) =>
      current.providers.find((provider) => provider.name === name)?.clientSecrets ?? [],
    onChange: (listener) => void listeners.push(listener),
  }
}

function hashSecrets(
  { canary, gatewayClient }: Pick<AuthorizationServerConfig, 'canary' | 'gatewayClient'>,
  { canarySecrets, gatewaySecrets, integrations }: Secrets,
): ReadonlyMap<string, readonly string[]> {
  return new Map([
    [gatewayClient.id, gatewaySecrets.map(hashClientSecret)],
    ...(canary === undefined ? [] : [[canary.clientId, canarySecrets.map(hashClientSecret)] as const]),
    ...integrations.flatMap(({ clientId, clientSecrets }) =>
      clientSecrets === undefined ? [] : [[clientId, clientSecrets.map(hashClientSecret)] as const],
    ),
  ])
}
