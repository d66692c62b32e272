import { hash, X509Certificate } from 'node:crypto'

export type ClientCertificate = {
  /** SHA-256 of its DER form, base64url: `x5t#S256`. RFC 8705 section 3.1. */
  readonly thumbprint: string
  /**
   * Validity period. Milliseconds since the epoch. Unlimited when a proxy sends only the thumbprint: it has checked the
   * period itself.
   */
  readonly fromMs: number
  readonly untilMs: number
}

export function describeCertificate(certificate: X509Certificate): ClientCertificate {
  return {
    thumbprint: hash('sha256', certificate.raw, 'base64url'),
    fromMs: certificate.validFromDate.getTime(),
    untilMs: certificate.validToDate.getTime(),
  }
}

/** Parses a certificate in PEM or DER. @returns undefined when it is not valid. */
export function parseClientCertificate(encoded: string | Buffer): ClientCertificate | undefined {
  try {
    return describeCertificate(new X509Certificate(encoded))
  } catch {
    return undefined
  }
}
