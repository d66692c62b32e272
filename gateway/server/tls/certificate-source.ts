import { readFile } from 'node:fs/promises'
import type { Logger } from '../../../platform/logging/logger.ts'
import { pemCertificates } from '../../../platform/net/pem-certificates.ts'
import { parseCertificate, type ServerCertificate } from './parse-certificate.ts'
import { type CertificateFiles, readCertificate } from './read-certificate.ts'

/** The certificate in force: that of the files, as long as it is of use. */
export type CertificateSource = {
  readonly current: ServerCertificate
  /** Calls back with every certificate that comes into force from now on. */
  onChange(listener: (certificate: ServerCertificate) => void): void
  /** Looks at the files now, as a timer does regularly. */
  look(): Promise<void>
  close(): void
}

/** A certificate that was renewed is in use within this. Milliseconds. */
const LOOK_EVERY_MS = 5_000

/**
 * Reads a certificate, and reads it again when its files have changed: whatever way they were changed, because it is what
 * stands in them that is compared. One that no client would believe, or two files of which only the first was written yet,
 * change nothing: the certificate in force stays, and the log says why.
 * @throws {ConfigError} C320 when there is none to begin with.
 */
export function openCertificateSource(options: {
  readonly files: CertificateFiles
  readonly nowMs: () => number
  readonly logger: Logger
  readonly onReload: (result: 'success' | 'failure') => void
}): CertificateSource {
  const { files, nowMs, logger, onReload } = options
  const listeners: ((certificate: ServerCertificate) => void)[] = []
  let current = readCertificate(files, nowMs())
  let complaint: string | undefined
  let told = false
  logger.info({ event: 'tls_certificate', ...shown(current) }, 'TLS is served with this certificate')

  async function look(): Promise<void> {
    tellExpiry()
    const [cert, key] = await Promise.all([readOr(files.certFile), readOr(files.keyFile)])
    if (cert instanceof Error) return complain({ file: 'certFile', fault: codeOf(cert) })
    if (key instanceof Error) return complain({ file: 'keyFile', fault: codeOf(key) })
    const parsed = parseCertificate({ cert, key }, nowMs())
    if ('fault' in parsed) {
      // The files are those in force: they were good once, and have only grown old.
      if (key === current.key && pemCertificates(cert).join('\n') === current.cert) return
      return complain(parsed)
    }
    complaint = undefined
    if (parsed.cert === current.cert && parsed.key === current.key) return
    current = parsed
    told = false
    for (const listener of listeners) listener(parsed)
    onReload('success')
    logger.info({ event: 'tls_certificate', ...shown(parsed) }, 'TLS is served with a new certificate')
  }

  /** Once for each thing that is wrong, however long it stays so. */
  function complain({
    file,
    fault,
    cure,
  }: {
    file: keyof CertificateFiles
    fault: string
    cure?: string
  }): void {
    const text = `${file}: ${fault}`
    if (text === complaint) return
    complaint = text
    onReload('failure')
    logger.error(
      { event: 'tls_certificate_unusable', file: files[file], reason: fault, cure, in_force: shown(current) },
      'the certificate in force stays',
    )
  }

  function tellExpiry(): void {
    if (told || current.expiresAtMs > nowMs()) return
    told = true
    logger.error(
      { event: 'tls_certificate_expired', ...shown(current) },
      'clients refuse the certificate in force',
    )
  }

  // A file system that hangs is asked once.
  let looking = false
  const timer = setInterval(async () => {
    if (looking) return
    looking = true
    await look()
    looking = false
  }, LOOK_EVERY_MS).unref()
  return {
    get current() {
      return current
    },
    onChange: (listener) => void listeners.push(listener),
    look,
    close: () => clearInterval(timer),
  }
}

function readOr(file: string): Promise<string | Error> {
  return readFile(file, 'utf8').catch((error: Error) => error)
}

function codeOf(error: Error): string {
  return `the file cannot be read (${'code' in error ? String(error.code) : 'unknown error'})`
}

function shown({ names, fingerprint, expiresAtMs }: ServerCertificate) {
  return { names, fingerprint, expires_at: new Date(expiresAtMs).toISOString() }
}
