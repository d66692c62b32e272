import { hash, X509Certificate } from 'node:crypto'

/** What is known of a client's certificate. */
export type ClientCertificate = {
  /** SHA-256 of its DER form, base64url: `x5t#S256`. RFC 8705 section 3.1. */
  readonly thumbprint: string
  /** Milliseconds since the epoch; a proxy may tell the thumbprint alone, and has looked at the dates itself. */
  readonly fromMs: number
  readonly untilMs: number
}

/** Takes from a certificate what is needed. */
export function describeCertificate(certificate: X509Certificate): ClientCertificate {
  return {
    thumbprint: hash('sha256', certificate.raw, 'base64url'),
    fromMs: certificate.validFromDate.getTime(),
    untilMs: certificate.validToDate.getTime(),
  }
}

/** Reads a certificate in PEM or DER. @returns undefined when it is none. */
export function parseClientCertificate(encoded: string | Buffer): ClientCertificate | undefined {
  try {
    return describeCertificate(new X509Certificate(encoded))
  } catch {
    return undefined
  }
}
