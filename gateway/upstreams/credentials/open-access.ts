import type { SecretFiles } from '../../../platform/config/secret-files.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { type GatewayCheck, optionalGatewayCheck } from '../../observability/readiness-check.ts'
import type { ClientCertificateMeter } from '../../observability/tls-metrics.ts'
import type { UpstreamTokenMeter } from '../../observability/upstream-token-metrics.ts'
import {
  type CertificateFiles,
  type CertificateSource,
  openCertificateSource,
} from '../../server/tls/certificate-source.ts'
import { followClientSecret } from '../../tokens/client-secret.ts'
import type { Clock } from '../../tokens/jwt/issuer-keys.ts'
import { parseClientKey } from './client-assertion.ts'
import type { UpstreamCredential } from './credential.ts'
import {
  openSecretCredential,
  parseUpstreamSecret,
  type SecretCredentialConfig,
  type SecretFile,
} from './secret-credential.ts'
import { createTokenClient, type TokenRequest } from './token-client.ts'
import { openTokenCredential, type TokenCredential } from './token-credential.ts'

/** The means by which the gateway authenticates at an upstream. Their files are followed until `close()`. */
export type UpstreamAccess = {
  readonly credential: UpstreamCredential | undefined
  readonly certificate: CertificateSource | undefined
  /** Returns degraded readiness checks. Empty while nothing is wrong. */
  checks(): readonly GatewayCheck[]
  close(): Promise<void>
}

/** The configuration of a credential. `secret` is the content of its file when the process started. */
export type CredentialConfig =
  | SecretCredentialConfig
  | (SecretFile & TokenRequest & { readonly kind: 'client_credentials'; readonly secret: string })

type AccessSettings = {
  /** Name of the upstream. */
  readonly name: string
  readonly certificate: CertificateFiles | undefined
  readonly credentials: CredentialConfig | undefined
}

type AccessParts = {
  readonly secretFiles: Pick<SecretFiles, 'follow'>
  readonly certificateMeter: ClientCertificateMeter
  readonly tokenMeter: (upstream: string) => UpstreamTokenMeter
  readonly clock: Clock
  readonly logger: Logger
  readonly failures: FailureLog
}

/**
 * Opens the credential and the client certificate of an upstream.
 * @throws {ConfigError} C320 when the client certificate is not usable.
 */
export function openAccess(
  { name, certificate: files, credentials }: AccessSettings,
  parts: AccessParts,
): UpstreamAccess {
  const certificate = files && openCertificate(name, files, parts)
  const token = credentials?.kind === 'client_credentials' ? openToken(name, credentials, parts) : undefined
  const credential =
    credentials === undefined || credentials.kind === 'client_credentials'
      ? token
      : openSecretCredential(credentials, parts.secretFiles)
  const problems = (): readonly (readonly [name: string, problem: string | undefined])[] => [
    ['client certificate', certificate?.problem && `${certificate.problem}: the earlier certificate stays`],
    ['token', token?.problem],
  ]
  return {
    credential,
    certificate,
    checks: () =>
      problems().flatMap(([subject, problem]) =>
        problem === undefined
          ? []
          : [optionalGatewayCheck('upstream_credentials', `${subject} for upstream ${name}`, problem)],
      ),
    async close() {
      certificate?.close()
      await token?.close()
    },
  }
}

function openToken(
  upstream: string,
  config: Extract<CredentialConfig, { readonly kind: 'client_credentials' }>,
  { secretFiles, tokenMeter, clock, logger, failures }: AccessParts,
): TokenCredential {
  const secret = followClientSecret({
    ...config,
    parse: (text) => parseClientCredential(text, config),
    files: secretFiles,
  })
  return openTokenCredential({
    upstream,
    client: createTokenClient(config, clock.nowMs),
    secret,
    clock,
    random: Math.random,
    meter: tokenMeter(upstream),
    logger,
    failures,
  })
}

/**
 * Returns the client secret, or the content of the key file.
 * @throws {ConfigError} C315 when the text is not usable.
 */
export function parseClientCredential(
  text: string,
  from: SecretFile & Pick<TokenRequest, 'authMethod'>,
): string {
  const { authMethod } = from
  return typeof authMethod === 'string'
    ? parseUpstreamSecret(text, from, 'secret')
    : parseClientKey(text, from, authMethod)
}

function openCertificate(
  upstream: string,
  files: CertificateFiles,
  { certificateMeter, clock, logger }: AccessParts,
): CertificateSource {
  const source = openCertificateSource({
    files,
    setting: `upstreams.${upstream}`,
    logged: { upstream },
    nowMs: clock.nowMs,
    logger,
    onReload: (result) => certificateMeter.reloaded(upstream, result),
  })
  certificateMeter.follow(upstream, () => source.current.expiresAtMs)
  return source
}
