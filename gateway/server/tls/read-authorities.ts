import { X509Certificate } from 'node:crypto'
import { ConfigError } from '../../../platform/diagnostics/boot-error.ts'
import { diagnostic, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../../platform/diagnostics/yaml/read-text-file.ts'
import { pemCertificates } from '../../../platform/net/pem-certificates.ts'

/**
 * Reads the CA certificates for connections to an upstream or an issuer, in PEM.
 * @param setting the setting that names the file, for the error message.
 * @throws {ConfigError} C322 when the file cannot be read, contains no certificate, or contains a certificate that
 * cannot be parsed.
 */
export function readAuthorities(file: string, setting: string): string {
  const shownAs = displayPath(file)
  const fail = (why: string): ConfigError =>
    new ConfigError([
      diagnostic('C322', `no usable CA certificate: ${why}`, wholeFile(shownAs), {
        hint: `write the CA certificates in PEM to the file in ${setting}`,
      }),
    ])
  const read = readTextFile(file, { shownAs, letter: 'C' })
  if ('problem' in read) throw fail(read.problem.message)
  const certificates = pemCertificates(read.text)
  if (certificates.length === 0) throw fail('the file does not contain a PEM certificate')
  const unread = certificates.findIndex((pem) => !isCertificate(pem))
  if (unread !== -1) throw fail(`certificate ${unread + 1} in the file cannot be parsed`)
  return certificates.join('\n')
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}
