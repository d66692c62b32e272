import { parseSecretLines } from '../../platform/config/parse-secret-lines.ts'
import { ConfigError } from '../../platform/diagnostics/boot-error.ts'
import { diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import { readAuthorities } from '../server/tls/read-authorities.ts'
import { type CredentialConfig, parseClientCredential } from '../upstreams/credentials/open-access.ts'
import { parseUpstreamSecret, readUpstreamSecret } from '../upstreams/credentials/secret-credential.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { IssuerEntry } from './issuer-schema.ts'
import type { CredentialsEntry } from './upstreams-file.ts'

/**
 * Reads the client secrets for all issuers with introspection.
 * @returns the secrets by issuer.
 * @throws {ConfigError} C302 for the first file that cannot be read or is empty.
 */
export function readClientSecrets(issuers: readonly IssuerEntry[]): ReadonlyMap<string, string> {
  return new Map(
    issuers.flatMap(({ issuer, introspection }, index) =>
      introspection === undefined
        ? []
        : [[issuer, readClientSecret(introspection.clientSecretFile, index)] as const],
    ),
  )
}

function readClientSecret(file: string, index: number): string {
  const read = readTextFile(file, { shownAs: displayPath(file), letter: 'C' })
  if ('problem' in read) throw unusableClientSecret(read.problem.message, { file, index })
  return parseClientSecret(read.text, { file, index })
}

/**
 * Returns the first line that is not blank, without leading and trailing white space.
 * @throws {ConfigError} C302 if all lines are blank.
 */
export function parseClientSecret(
  text: string,
  from: { readonly file: string; readonly index: number },
): string {
  const [secret] = text.trim().split('\n')
  if (secret === undefined || secret === '') throw unusableClientSecret('the file is empty', from)
  return secret.trim()
}

function unusableClientSecret(
  why: string,
  { file, index }: { readonly file: string; readonly index: number },
): ConfigError {
  return new ConfigError([
    diagnostic(
      'C302',
      `the client secret of the gateway is not usable: ${why}`,
      wholeFile(displayPath(file)),
      {
        hint: `write the client_secret from the authorization server to the file in issuers[${index}].introspection.clientSecretFile, and grant read permission to the user of this process`,
      },
    ),
  ])
}

/** Minimum length of the secret in characters. With a guessed secret, a client could create nonces in advance. */
const MIN_LENGTH = 32

/**
 * Reads the secrets for DPoP nonces: one per line, newest first, without leading and trailing white space. Every worker
 * and replica needs the same secrets, so the gateway does not generate secrets.
 * @returns `undefined` if nonces are not required.
 * @throws {ConfigError} C350 if the secret is missing or too short.
 */
export function readNonceSecrets(dpop: GatewayFile['dpop']): readonly string[] | undefined {
  if (dpop?.nonce !== 'required') return undefined
  if (dpop.nonceSecretFile === undefined) throw fail('config/gateway.yaml', 'dpop.nonceSecretFile is missing')
  const shownAs = displayPath(dpop.nonceSecretFile)
  const read = readTextFile(dpop.nonceSecretFile, { shownAs, letter: 'C' })
  if ('problem' in read) throw fail(shownAs, read.problem.message)
  return parseNonceSecrets(read.text, dpop.nonceSecretFile)
}

/** @throws {BootError} C350 for a text without a secret, or a secret that is too short. ERR_SECRET_FILE for over 10. */
export function parseNonceSecrets(text: string, file: string): readonly string[] {
  const secrets = parseSecretLines(text, file)
  if (secrets.length === 0 || secrets.some((secret) => secret.length < MIN_LENGTH))
    throw fail(
      displayPath(file),
      `the file must contain one secret per line, each of at least ${MIN_LENGTH} characters`,
    )
  return secrets
}

function fail(shownAs: string, why: string): ConfigError {
  return new ConfigError([
    diagnostic('C350', `the secret for DPoP nonces is not usable: ${why}`, wholeFile(shownAs), {
      hint: 'set dpop.nonceSecretFile to a file with the same secret for every replica, for example from openssl rand -base64 32',
    }),
  ])
}

/**
 * Reads the secret of an upstream, and the CA certificates of its token endpoint.
 * @returns undefined for credentials that the schema permits and `validateConfig` rejects.
 * @throws {ConfigError} C315 if the file of the secret is not usable. C322 if the CA certificates are not usable.
 */
export function readUpstreamCredentials(
  upstream: string,
  { header, basic, clientCredentials }: CredentialsEntry,
): CredentialConfig | undefined {
  const setting = `upstreams.${upstream}.credentials`
  if (header !== undefined) {
    const from = { file: header.valueFile, setting: `${setting}.header.valueFile` }
    return {
      kind: 'header',
      name: header.name,
      ...from,
      secret: readUpstreamSecret(from, (text) => parseUpstreamSecret(text, from, 'header')),
    }
  }
  if (basic !== undefined) {
    const from = { file: basic.passwordFile, setting: `${setting}.basic.passwordFile` }
    return {
      kind: 'basic',
      username: basic.username,
      ...from,
      secret: readUpstreamSecret(from, (text) => parseUpstreamSecret(text, from, 'secret')),
    }
  }
  if (clientCredentials === undefined) return undefined
  const { tokenEndpoint, clientId, clientSecretFile, privateKeyJwt, caFile } = clientCredentials
  const name = privateKeyJwt === undefined ? 'clientSecretFile' : 'privateKeyJwt.keyFile'
  const from = {
    file: privateKeyJwt?.keyFile ?? clientSecretFile ?? '',
    setting: `${setting}.clientCredentials.${name}`,
    authMethod: privateKeyJwt
      ? { issuer: privateKeyJwt.issuer, keyId: privateKeyJwt.keyId, algorithm: privateKeyJwt.algorithm }
      : (clientCredentials.authMethod ?? 'client_secret_basic'),
  }
  if (from.file === '') return undefined
  return {
    kind: 'client_credentials',
    tokenEndpoint,
    clientId,
    scopes: clientCredentials.scopes ?? [],
    resource: clientCredentials.resource,
    audience: clientCredentials.audience,
    ca: caFile === undefined ? undefined : readAuthorities(caFile, `${setting}.clientCredentials.caFile`),
    ...from,
    secret: readUpstreamSecret(from, (text) => parseClientCredential(text, from)),
  }
}
