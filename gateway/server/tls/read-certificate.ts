import { ConfigError } from '../../../platform/diagnostics/config-error.ts'
import { diagnostic, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../../platform/diagnostics/yaml/read-text-file.ts'
import { parseCertificate, type ServerCertificate } from './parse-certificate.ts'

export type CertificateFiles = { readonly certFile: string; readonly keyFile: string }

/**
 * Reads a certificate and its key.
 * @throws {ConfigError} C320 when they are not usable. The message never contains key material.
 */
export function readCertificate(files: CertificateFiles, nowMs: number): ServerCertificate {
  const read = (name: 'certFile' | 'keyFile'): string => {
    const shownAs = displayPath(files[name])
    const file = readTextFile(files[name], { shownAs, letter: 'C' })
    if ('text' in file) return file.text
    throw fail(shownAs, file.problem.message, `set tls.${name} to a readable PEM file`)
  }
  const parsed = parseCertificate({ cert: read('certFile'), key: read('keyFile') }, nowMs)
  if ('fault' in parsed)
    throw fail(displayPath(files[parsed.file]), parsed.fault, `${parsed.cure} (tls.${parsed.file})`)
  return parsed
}

function fail(shownAs: string, why: string, hint: string): ConfigError {
  return new ConfigError([
    diagnostic('C320', `the TLS certificate is not usable: ${why}`, wholeFile(shownAs), { hint }),
  ])
}
