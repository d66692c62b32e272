import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import { pemCertificates } from '../../../platform/net/pem-certificates.ts'

export type ServerCertificate = {
  /** The certificate and its chain of intermediates, in PEM. */
  readonly cert: string
  /** The private key, in PEM. */
  readonly key: string
  /** Expiry of the certificate itself, not of its chain. Milliseconds since the epoch. */
  readonly expiresAtMs: number
  /** Subject alternative names, or else the subject, in OpenSSL format. */
  readonly names: string
  /** SHA-256 fingerprint, which identifies the certificate in logs. */
  readonly fingerprint: string
}

/**
 * The reason why certificate and key are not usable, the file at fault, and the remedy. Never contains key material.
 */
export type CertificateFault = {
  readonly file: 'certFile' | 'keyFile'
  readonly fault: string
  readonly remedy: string
}

/** Tolerance between the clocks of this machine and of the certificate authority. Milliseconds. */
const SKEW_MS = 300_000
const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/

/** Validates that certificate and key match, that the certificate is valid now, and that OpenSSL accepts both. */
export function parseCertificate(
  pem: { readonly cert: string; readonly key: string },
  nowMs: number,
): ServerCertificate | CertificateFault {
  const blocks = pemCertificates(pem.cert)
  const chain = blocks.map(readCertificate)
  const [leaf] = chain
  if (leaf === undefined)
    return certFault(
      'the file does not contain a PEM certificate',
      'convert the file to PEM: openssl x509 -in … -outform pem',
    )
  const broken = chain.indexOf(undefined)
  if (broken !== -1)
    return certFault(`certificate ${broken + 1} in the file cannot be parsed`, 'copy the complete file again')
  const key = readKey(pem.key)
  if (key === undefined)
    return ENCRYPTED_KEY.test(pem.key)
      ? keyFault(
          'the key is encrypted, and the gateway has no passphrase',
          'decrypt the key: openssl pkey -in … -out …',
        )
      : keyFault(
          'the file does not contain a PEM private key',
          'write the private key in PEM to the file, for example with: openssl pkey -in … -out …',
        )
  if (!leaf.checkPrivateKey(key))
    return chain.some((one) => one?.checkPrivateKey(key))
      ? certFault(
          'the certificate of the key must be the first in the file',
          'put the certificate of the key first, then the intermediate certificates',
        )
      : keyFault(
          'the key does not match the certificate',
          'use the private key from which the certificate request was created',
        )
  const expiresAtMs = leaf.validToDate.getTime()
  if (expiresAtMs <= nowMs)
    return certFault(`the certificate expired at ${leaf.validToDate.toISOString()}`, 'renew the certificate')
  if (leaf.validFromDate.getTime() > nowMs + SKEW_MS)
    return certFault(
      `the certificate is not valid before ${leaf.validFromDate.toISOString()}`,
      'wait until the certificate is valid, or correct the clock of this machine',
    )
  const cert = blocks.join('\n')
  try {
    createSecureContext({ cert, key: pem.key })
  } catch (error) {
    // Causes include a key that is too short, or a signature that uses SHA-1.
    return certFault(
      `OpenSSL rejects the certificate (${errorCode(error)})`,
      'request a certificate with a P-256 key, or an RSA key of at least 2048 bits',
    )
  }
  return {
    cert,
    key: pem.key,
    expiresAtMs,
    names: leaf.subjectAltName ?? leaf.subject,
    fingerprint: leaf.fingerprint256,
  }
}

function certFault(fault: string, remedy: string): CertificateFault {
  return { file: 'certFile', fault, remedy }
}

function keyFault(fault: string, remedy: string): CertificateFault {
  return { file: 'keyFile', fault, remedy }
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    // Drops the error, because its message can contain the key.
    return undefined
  }
}
