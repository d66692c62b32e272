import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { pemCertificates } from '../../../platform/net/pem-certificates.ts'

/** What a TLS listener shows its clients. */
export type ServerCertificate = {
  /** The certificate and those that lead to its authority, in PEM. */
  readonly cert: string
  /** Its private key, in PEM. */
  readonly key: string
  /** Of the certificate itself. Milliseconds since 1970. */
  readonly expiresAtMs: number
  /** Whom it is for, as OpenSSL writes it. */
  readonly names: string
  /** SHA-256, to tell it from others in logs. */
  readonly fingerprint: string
}

/** Why two files are of no use, which of them is at fault, and what to do. Never a word of what stands in the key. */
export type CertificateFault = {
  readonly file: 'certFile' | 'keyFile'
  readonly fault: string
  readonly cure: string
}

/** Clocks of this machine and of the authority may differ by this. Milliseconds. */
const SKEW_MS = 300_000
const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/

/** Checks that a certificate and a key belong together and that a client would believe the certificate today. */
export function parseCertificate(
  pem: { readonly cert: string; readonly key: string },
  nowMs: number,
): ServerCertificate | CertificateFault {
  const blocks = pemCertificates(pem.cert)
  const chain = blocks.map(readCertificate)
  const [leaf] = chain
  if (leaf === undefined)
    return certFault(
      'the file holds no certificate in PEM',
      'it begins with -----BEGIN CERTIFICATE-----, as `openssl x509 -in … -outform pem` writes it',
    )
  const broken = chain.indexOf(undefined)
  if (broken !== -1)
    return certFault(`certificate ${broken + 1} of the file cannot be read`, 'copy the whole file anew')
  const key = readKey(pem.key)
  if (key === undefined)
    return ENCRYPTED_KEY.test(pem.key)
      ? keyFault(
          'the key is encrypted, and nobody is there to give its passphrase',
          'decrypt it: openssl pkey -in … -out …',
        )
      : keyFault('the file holds no private key in PEM', 'it begins with -----BEGIN PRIVATE KEY-----')
  if (!leaf.checkPrivateKey(key))
    return chain.some((one) => one?.checkPrivateKey(key))
      ? certFault(
          'the certificate of the key is not the first of the file',
          "put the server's own certificate first, then those of its authorities",
        )
      : keyFault(
          'the key belongs to another certificate',
          'give the key that the certificate was requested with',
        )
  const expiresAtMs = leaf.validToDate.getTime()
  if (expiresAtMs <= nowMs)
    return certFault(`the certificate expired at ${leaf.validToDate.toISOString()}`, 'renew it')
  if (leaf.validFromDate.getTime() > nowMs + SKEW_MS)
    return certFault(
      `the certificate is not valid before ${leaf.validFromDate.toISOString()}`,
      "wait until then, or correct this machine's clock",
    )
  const cert = blocks.join('\n')
  try {
    createSecureContext({ cert, key: pem.key })
  } catch (error) {
    // E.g. a key that is too short, or a signature by SHA-1.
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    return certFault(
      `OpenSSL does not take the certificate (${why})`,
      'request one with a key of P-256, or of RSA with at least 2048 bits',
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

function certFault(fault: string, cure: string): CertificateFault {
  return { file: 'certFile', fault, cure }
}

function keyFault(fault: string, cure: string): CertificateFault {
  return { file: 'keyFile', fault, cure }
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
    // What the library says may quote the key.
    return undefined
  }
}
