import { readConfig } from '../../platform/config/read-config.ts'
import { readScopeCatalogue } from '../../platform/config/read-scope-catalogue.ts'
import { ConfigError } from '../../platform/diagnostics/boot-error.ts'
import { collectProblems } from '../../platform/diagnostics/collect-problems.ts'
import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { NO_PRESETS, readPresets } from '../../policy-engine/format/presets.ts'
import { readCertificate } from '../server/tls/certificate-source.ts'
import { readAuthorities } from '../server/tls/read-authorities.ts'
import { readAssertionKeys } from '../upstream-identity/assertion-key.ts'
import type { CredentialConfig } from '../upstreams/credentials/open-access.ts'
import type { GatewayConfig } from './gateway-config.ts'
import {
  type GatewayFileOptions,
  gatewayFilePath,
  readGatewayFile,
  UPSTREAMS_SECTION,
} from './read-gateway-file.ts'
import { readClientSecrets, readNonceSecrets, readUpstreamCredentials } from './read-secrets.ts'
import { certificateOf, toGatewayConfig } from './to-gateway-config.ts'
import { UpstreamsFile } from './upstreams-file.ts'
import { validateConfig } from './validate.ts'

/**
 * Reads config/gateway.yaml and the files that this file names, such as scope catalogue, presets, upstreams and
 * secrets.
 * @returns the configuration, and warnings that do not prevent the start.
 * @throws {ConfigError} listing all errors in the readable files:
 * - C1xx: schema errors
 * - C302 to C319: problems across settings and files
 * - C320 to C324: TLS
 * - C329 to C339: issuers
 * - C340 to C345: resources
 * - C346: security events
 * - C350, C351: sender-constrained tokens
 * - C360 to C364: policy sources
 */
export function readGatewayConfig(options: GatewayFileOptions): {
  readonly config: GatewayConfig
  readonly warnings: readonly Diagnostic[]
} {
  const file = gatewayFilePath(options)
  const gateway = readGatewayFile(options)
  const { value } = gateway
  const { found: problems, attempt } = collectProblems()
  const catalogue = attempt(() => readScopeCatalogue({ file: value.scopes }))
  const presets = attempt(() => (value.presets === undefined ? NO_PRESETS : readPresets(value.presets)))
  const upstreams = attempt(() =>
    readConfig({
      file: value.upstreams,
      schema: UpstreamsFile,
      env: options.env,
      section: UPSTREAMS_SECTION,
    }),
  )
  const clientSecrets = attempt(() => readClientSecrets(value.issuers))
  const nonceSecrets = attempt(() => readNonceSecrets(value.dpop))
  const authorities = new Map<string, string>()
  const addCa = (caFile: string | undefined, setting: string): void => {
    const ca = caFile === undefined ? undefined : attempt(() => readAuthorities(caFile, setting))
    if (caFile !== undefined && ca !== undefined) authorities.set(caFile, ca)
  }
  addCa(value.tls?.clientCertificates?.caFile, 'tls.clientCertificates.caFile')
  for (const [index, { caFile }] of value.issuers.entries()) addCa(caFile, `issuers[${index}].caFile`)
  const credentials = new Map<string, CredentialConfig>()
  for (const [name, entry] of Object.entries(upstreams?.value ?? {})) {
    addCa(entry.caFile, `${name}.caFile in config/upstreams.yaml`)
    const certificate = certificateOf(entry)
    attempt(() => certificate && readCertificate(certificate, Date.now(), `upstreams.${name}`))
    const read = attempt(() => entry.credentials && readUpstreamCredentials(name, entry.credentials))
    if (read !== undefined) credentials.set(name, read)
  }
  const contradictions = validateConfig(
    { ...gateway, file },
    upstreams && { value: upstreams.value, file: value.upstreams },
  )
  const isWarning = ({ severity }: Diagnostic): boolean => severity !== 'error'
  problems.push(...contradictions.filter((one) => !isWarning(one)))
  attempt(() => value.assertion?.keyFile !== undefined && readAssertionKeys(value.assertion.keyFile))
  attempt(() => value.tls !== undefined && readCertificate(value.tls, Date.now()))
  if (
    catalogue === undefined ||
    presets === undefined ||
    upstreams === undefined ||
    clientSecrets === undefined ||
    problems.length > 0
  )
    throw new ConfigError(problems)
  return {
    config: toGatewayConfig(value, {
      catalogue,
      presets,
      upstreams: upstreams.value,
      authorities,
      clientSecrets,
      credentials,
      nonceSecrets,
    }),
    warnings: [...gateway.warnings, ...upstreams.warnings, ...contradictions.filter(isWarning)],
  }
}
