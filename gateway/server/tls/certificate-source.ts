import { readSecretText } from '../../../platform/config/read-secret-file.ts'
import { repeat } from '../../../platform/config/secret-files.ts'
import { ConfigError } from '../../../platform/diagnostics/boot-error.ts'
import { diagnostic, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import { readTextFile } from '../../../platform/diagnostics/yaml/read-text-file.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { pemCertificates } from '../../../platform/net/pem-certificates.ts'
import { parseCertificate, type ServerCertificate } from './parse-certificate.ts'

export type CertificateSource = {
  readonly current: ServerCertificate
  /**
   * Calls `listener` with each certificate that replaces the current certificate.
   * @returns a function that ends these calls.
   */
  onChange(listener: (certificate: ServerCertificate) => void): () => void
  /** The reason why the content of the files is not usable. Undefined: the active certificate is in the files. */
  readonly problem: string | undefined
  /** Checks the files now. A timer also calls this function regularly. */
  check(): Promise<void>
  close(): void
}

/**
 * Opens a certificate and reloads the certificate when the content of its files changes. Invalid content changes
 * nothing: the active certificate stays and the log states the reason. The active certificate also stays while only one
 * of the two files has been replaced.
 * @throws {ConfigError} C320 when the first certificate is not usable.
 */
export function openCertificateSource(options: {
  readonly files: CertificateFiles
  /** The setting that names the two files. Default: `tls`. */
  readonly setting?: string
  /** Additional fields of each log line. */
  readonly logged?: Readonly<Record<string, string>>
  readonly nowMs: () => number
  readonly logger: Logger
  readonly onReload: (result: 'success' | 'failure') => void
}): CertificateSource {
  const { files, logged, nowMs, logger, onReload } = options
  const listeners = new Set<(certificate: ServerCertificate) => void>()
  let current = readCertificate(files, nowMs(), options.setting)
  let lastProblem: string | undefined
  let expiryLogged = false
  logger.info({ event: 'tls_certificate', ...logged, ...logFields(current) }, 'TLS certificate loaded')

  async function check(): Promise<void> {
    logExpiry()
    const [cert, key] = await Promise.all([readOrError(files.certFile), readOrError(files.keyFile)])
    if (cert instanceof Error) return logProblem({ file: 'certFile', fault: unreadable(cert) })
    if (key instanceof Error) return logProblem({ file: 'keyFile', fault: unreadable(key) })
    const parsed = parseCertificate({ cert, key }, nowMs())
    if ('fault' in parsed) {
      // The files still contain the active certificate, but the certificate has expired.
      if (key === current.key && pemCertificates(cert).join('\n') === current.cert) return
      return logProblem(parsed)
    }
    lastProblem = undefined
    if (parsed.cert === current.cert && parsed.key === current.key) return
    current = parsed
    expiryLogged = false
    for (const listener of listeners) listener(parsed)
    onReload('success')
    logger.info({ event: 'tls_certificate', ...logged, ...logFields(parsed) }, 'TLS certificate reloaded')
  }

  /** Logs a problem once. Later checks that find the same problem log nothing. */
  function logProblem({
    file,
    fault,
    remedy,
  }: {
    file: keyof CertificateFiles
    fault: string
    remedy?: string
  }): void {
    const text = `${file}: ${fault}`
    if (text === lastProblem) return
    lastProblem = text
    onReload('failure')
    logger.error(
      {
        event: 'tls_certificate_unusable',
        ...logged,
        file: files[file],
        reason: fault,
        remedy,
        in_force: logFields(current),
      },
      'the new TLS certificate is not usable: the active certificate stays in use',
    )
  }

  function logExpiry(): void {
    if (expiryLogged || current.expiresAtMs > nowMs()) return
    expiryLogged = true
    logger.error(
      { event: 'tls_certificate_expired', ...logged, ...logFields(current) },
      'the active TLS certificate has expired',
    )
  }

  const polling = repeat(check)
  return {
    get current() {
      return current
    },
    get problem() {
      return lastProblem
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    check,
    close: polling.close,
  }
}

function readOrError(file: string): Promise<string | Error> {
  return readSecretText(file).catch((error: Error) => error)
}

function unreadable(error: Error): string {
  return `the file cannot be read (${errorCode(error)})`
}

function logFields({ names, fingerprint, expiresAtMs }: ServerCertificate) {
  return { names, fingerprint, expires_at: new Date(expiresAtMs).toISOString() }
}

export type CertificateFiles = { readonly certFile: string; readonly keyFile: string }

/**
 * Reads a certificate and its key.
 * @param setting the setting that names the two files, for the error message.
 * @throws {ConfigError} C320 when certificate or key are not usable. The message never contains key material.
 */
export function readCertificate(files: CertificateFiles, nowMs: number, setting = 'tls'): ServerCertificate {
  const read = (name: 'certFile' | 'keyFile'): string => {
    const shownAs = displayPath(files[name])
    const file = readTextFile(files[name], { shownAs, letter: 'C' })
    if ('text' in file) return file.text
    throw fail(shownAs, file.problem.message, `set ${setting}.${name} to a readable PEM file`)
  }
  const parsed = parseCertificate({ cert: read('certFile'), key: read('keyFile') }, nowMs)
  if ('fault' in parsed)
    throw fail(displayPath(files[parsed.file]), parsed.fault, `${parsed.remedy} (${setting}.${parsed.file})`)
  return parsed
}

function fail(shownAs: string, why: string, hint: string): ConfigError {
  return new ConfigError([
    diagnostic('C320', `the TLS certificate is not usable: ${why}`, wholeFile(shownAs), { hint }),
  ])
}
