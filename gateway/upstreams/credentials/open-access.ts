import type { SecretFiles } from '../../../platform/config/secret-files.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { optionalCheck, type ReadinessCheck } from '../../../platform/ops/ops-server.ts'
import type { ClientCertificateMeter } from '../../observability/tls-metrics.ts'
import {
  type CertificateFiles,
  type CertificateSource,
  openCertificateSource,
} from '../../server/tls/certificate-source.ts'
import type { UpstreamCredential } from './credential.ts'
import { openSecretCredential, type SecretCredentialConfig } from './secret-credential.ts'

/** The means by which the gateway authenticates at an upstream. Their files are followed until `close()`. */
export type UpstreamAccess = {
  readonly credential: UpstreamCredential | undefined
  readonly certificate: CertificateSource | undefined
  /** Returns degraded readiness checks. Empty while nothing is wrong. */
  checks(): readonly ReadinessCheck[]
  close(): void
}

type AccessSettings = {
  /** Name of the upstream. */
  readonly name: string
  readonly certificate: CertificateFiles | undefined
  readonly credentials: SecretCredentialConfig | undefined
}

/**
 * Opens the credential and the client certificate of an upstream.
 * @throws {ConfigError} C320 when the client certificate is not usable.
 */
export function openAccess(
  { name, certificate: files, credentials }: AccessSettings,
  parts: {
    readonly secretFiles: Pick<SecretFiles, 'follow'>
    readonly certificates: () => ClientCertificateMeter
    readonly nowMs: () => number
    readonly logger: Logger
  },
): UpstreamAccess {
  const certificate = files && openCertificate(name, files, parts)
  return {
    credential: credentials && openSecretCredential(credentials, parts.secretFiles),
    certificate,
    checks: () =>
      certificate?.problem === undefined
        ? []
        : [
            optionalCheck(
              `client certificate for upstream ${name}`,
              `${certificate.problem}: the earlier certificate stays`,
            ),
          ],
    close: () => certificate?.close(),
  }
}

function openCertificate(
  upstream: string,
  files: CertificateFiles,
  { certificates, nowMs, logger }: Parameters<typeof openAccess>[1],
): CertificateSource {
  const meter = certificates()
  const source = openCertificateSource({
    files,
    setting: `upstreams.${upstream}`,
    logged: { upstream },
    nowMs,
    logger,
    onReload: (result) => meter.reloaded(upstream, result),
  })
  meter.follow(upstream, () => source.current.expiresAtMs)
  return source
}
