import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { parseSecretLines } from '../../platform/config/parse-secret-lines.ts'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { AuthorizationServerConfig } from '../config.ts'
import { createFileOnce, readSecretFile } from './create-file-once.ts'
import { loadSigningKeys, type SigningKeys } from './signing-keys.ts'

/** Signing keys, cookie keys and client secrets of the process. Passwords of stores are not included. */
export type Secrets = {
  /** Accepted secrets of the gateway client, newest first. */
  readonly gatewaySecrets: readonly string[]
  readonly signingKeys: SigningKeys
  readonly cookieSecrets: readonly string[]
  readonly integrations: readonly {
    readonly clientId: string
    readonly clientName: string
    readonly redirectUris: readonly string[]
    /** Accepted secrets of the integration, newest first. Undefined: a public client. */
    readonly clientSecrets: readonly string[] | undefined
  }[]
  /** Accepted secrets of the canary, newest first. Empty: no canary. */
  readonly canarySecrets: readonly string[]
  /** Accepted tokens for the sign-in to the console, newest first. Empty: nobody can sign in. */
  readonly adminTokens: readonly string[]
  /** Secrets of this server at the OpenID providers, newest first. */
  readonly providers: readonly { readonly name: string; readonly clientSecrets: readonly string[] }[]
}

/**
 * Reads the keys and secrets. Creates missing keys and secrets if the configuration allows the creation.
 * @throws {BootError} the errors of the function that loads each kind of secret.
 */
export async function loadSecrets(config: AuthorizationServerConfig): Promise<Secrets> {
  return {
    gatewaySecrets: await loadGatewaySecrets({
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
        clientSecrets: await loadIntegrationSecrets(integration.clientSecretFile),
      })),
    ),
    canarySecrets: config.canary === undefined ? [] : await loadCanarySecrets(config.canary.clientSecretFile),
    adminTokens:
      config.management.adminTokenFile === undefined
        ? []
        : parseAdminTokens(
            await readSecretFile(config.management.adminTokenFile, ADMIN_SETTING),
            config.management.adminTokenFile,
          ),
    providers: await Promise.all(
      config.signIn.providers.map(async ({ name, clientSecretFile }) => ({
        name,
        clientSecrets: await loadProviderSecrets(clientSecretFile),
      })),
    ),
  }
}

const SECRET_BYTES = 32
const SHORTEST_SECRET = 16

/**
 * Reads the client secrets of the gateway, one per line, newest first. In development mode, creates the file when it
 * does not exist.
 * @throws {BootError} ERR_SECRET_FILE, ERR_DATA_DIR, ERR_GATEWAY_SECRET.
 */
export async function loadGatewaySecrets(options: {
  readonly file: string
  readonly development: boolean
}): Promise<readonly string[]> {
  const text = options.development
    ? await createFileOnce(options.file, async () => randomBytes(SECRET_BYTES).toString('base64url'))
    : await readSecretFile(options.file, 'gatewayClient.secretFile')
  return parseGatewaySecrets(text, options.file)
}

/**
 * Parses the accepted client secrets of the gateway.
 * @throws {BootError} ERR_GATEWAY_SECRET, ERR_SECRET_FILE.
 */
export function parseGatewaySecrets(text: string, file: string): readonly string[] {
  return parseLongSecrets(text, file, { code: 'ERR_GATEWAY_SECRET', setting: 'gatewayClient.secretFile' })
}

/**
 * Parses the accepted client secrets of the canary.
 * @throws {BootError} ERR_SECRET_FILE.
 */
export function parseCanarySecrets(text: string, file: string): readonly string[] {
  return parseLongSecrets(text, file, { code: 'ERR_SECRET_FILE', setting: CANARY_SETTING })
}

const CANARY_SETTING = 'canary.clientSecretFile'

async function loadCanarySecrets(file: string): Promise<readonly string[]> {
  return parseCanarySecrets(await readSecretFile(file, CANARY_SETTING), file)
}

export const ADMIN_SETTING = 'management.adminTokenFile'
/** A person can choose an admin token, so the minimum length is larger than for other secrets. */
const SHORTEST_ADMIN_TOKEN = 32

/**
 * Parses the accepted tokens for the sign-in to the console.
 * @throws {BootError} ERR_SECRET_FILE.
 */
export function parseAdminTokens(text: string, file: string): readonly string[] {
  return parseLongSecrets(text, file, {
    code: 'ERR_SECRET_FILE',
    setting: ADMIN_SETTING,
    shortest: SHORTEST_ADMIN_TOKEN,
  })
}

function parseLongSecrets(
  text: string,
  file: string,
  {
    code,
    setting,
    shortest = SHORTEST_SECRET,
  }: { readonly code: string; readonly setting: string; readonly shortest?: number },
): readonly string[] {
  const secrets = parseSecretLines(text, file)
  if (secrets.length === 0 || secrets.some((secret) => secret.length < shortest))
    throw new BootError(
      code,
      `${file} (${setting}): the file must contain one secret per line, newest first, each at least ${shortest} characters long.`,
      { exitCode: 3 },
    )
  return secrets
}

async function loadIntegrationSecrets(file: string | undefined): Promise<readonly string[] | undefined> {
  if (file === undefined) return undefined
  const setting = 'integrations[].clientSecretFile'
  return parseClientSecrets(await readSecretFile(file, setting), file, setting)
}

async function loadProviderSecrets(file: string): Promise<readonly string[]> {
  const setting = 'signIn.providers[].clientSecretFile'
  return parseClientSecrets(await readSecretFile(file, setting), file, setting)
}

/**
 * Parses the client secrets of an integration, or of this server at an OpenID provider.
 * @throws {BootError} ERR_SECRET_FILE when the file contains no secret or more than 10 secrets.
 */
export function parseClientSecrets(text: string, file: string, setting: string): readonly string[] {
  const secrets = parseSecretLines(text, file)
  if (secrets.length === 0)
    throw new BootError(
      'ERR_SECRET_FILE',
      `${file} (${setting}): the file is empty. Write the client_secret to the file.`,
      { exitCode: 3 },
    )
  return secrets
}

const KEY_BYTES = 32
const SHORTEST_KEY = 32 // characters: 128 bits even in hexadecimal

/**
 * Reads the keys that sign cookies: newest first, one per line. Without `cookieKeysFile`, reads `cookie-keys` in the
 * data folder, which the function creates on the first start.
 * @throws {BootError} ERR_SECRET_FILE, ERR_DATA_DIR, ERR_COOKIE_KEYS.
 */
export async function loadCookieKeys(options: {
  readonly cookieKeysFile: string | undefined
  readonly dataDir: string
}): Promise<readonly string[]> {
  if (options.cookieKeysFile !== undefined)
    return parseCookieKeys(
      await readSecretFile(options.cookieKeysFile, 'cookieKeysFile'),
      options.cookieKeysFile,
    )
  const file = join(options.dataDir, 'cookie-keys')
  const text = await createFileOnce(file, async () => `${randomBytes(KEY_BYTES).toString('base64url')}\n`)
  return parseCookieKeys(text, file)
}

export function parseCookieKeys(text: string, file: string): readonly string[] {
  const keys = parseSecretLines(text, file)
  if (keys.length === 0 || keys.some((key) => key.length < SHORTEST_KEY))
    throw new BootError(
      'ERR_COOKIE_KEYS',
      `${file}: the file must contain one cookie key per line, newest first, each at least ${SHORTEST_KEY} characters long.`,
      { exitCode: 3 },
    )
  return keys
}
