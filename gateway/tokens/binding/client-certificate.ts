import { hash, X509Certificate } from 'node:crypto'
import { pemCertificates } from '../../../platform/net/pem-certificates.ts'

export type ClientCertificate = {
  /** SHA-256 of the certificate in DER form, as base64url: `x5t#S256`. RFC 8705 section 3.1. */
  readonly thumbprint: string
  /**
   * Validity period. Milliseconds since the epoch. If a proxy sends only the thumbprint, the period is unlimited,
   * because the proxy has checked the period.
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

/** Parses a certificate in PEM or DER. @returns undefined when the certificate is not valid. */
export function parseClientCertificate(encoded: string | Buffer): ClientCertificate | undefined {
  try {
    return describeCertificate(new X509Certificate(encoded))
  } catch {
    return undefined
  }
}

/** The header in which a proxy sends a client certificate. */
export type CertificateHeader = {
  /**
   * The header name in lower case. The gateway removes every header of this list from requests to upstreams
   * (header-kind.ts).
   */
  readonly name: 'x-forwarded-client-cert' | 'x-client-cert' | 'ssl-client-cert'
  /** `xfcc`: Envoy. `pem-url`: PEM, percent-encoded, as nginx does. `base64-der`: HAProxy's `ssl_c_der,base64`. */
  readonly format: 'xfcc' | 'pem-url' | 'base64-der'
}

/**
 * Reads the client certificate from the header of a trusted proxy.
 * @returns undefined unless the request contains this header exactly once, with one valid certificate.
 */
export function readCertificateHeader(
  values: readonly string[],
  format: CertificateHeader['format'],
): ClientCertificate | undefined {
  const [value] = values
  if (value === undefined || values.length > 1) return undefined
  switch (format) {
    case 'xfcc':
      return readXfcc(value)
    case 'pem-url':
      return readPem(value)
    case 'base64-der':
      return readDer(value)
  }
}

// `Key=value`. A value that contains `,`, `;` or `=` is quoted.
const PAIR = /(\w+)=("(?:[^"\\]|\\.)*"|[^",;]*)(;|$)/y
const HEX_SHA256 = /^[0-9a-fA-F]{64}$/

/**
 * Reads a header with one element. Several elements come from several proxies, so the gateway cannot determine which
 * element describes the client.
 */
function readXfcc(value: string): ClientCertificate | undefined {
  const found = new Map<string, string>()
  PAIR.lastIndex = 0
  while (PAIR.lastIndex < value.length) {
    const pair = PAIR.exec(value)
    if (pair === null) return undefined
    const name = (pair[1] ?? '').toLowerCase()
    // `By`, `URI` and `DNS` may occur more than once.
    if (found.has(name) && (name === 'hash' || name === 'cert')) return undefined
    found.set(name, (pair[2] ?? '').replace(/^"|"$/g, ''))
  }
  const hex = found.get('hash')
  const pem = found.get('cert')
  const certificate = pem === undefined ? undefined : readPem(pem)
  if (pem !== undefined && certificate === undefined) return undefined
  if (hex === undefined) return certificate
  if (!HEX_SHA256.test(hex)) return undefined
  const thumbprint = Buffer.from(hex, 'hex').toString('base64url')
  if (certificate === undefined) return { thumbprint, fromMs: 0, untilMs: Number.POSITIVE_INFINITY }
  return certificate.thumbprint === thumbprint ? certificate : undefined
}

function readPem(encoded: string): ClientCertificate | undefined {
  let text: string
  try {
    text = decodeURIComponent(encoded)
  } catch {
    return undefined
  }
  const [pem, ...others] = pemCertificates(text)
  return pem === undefined || others.length > 0 ? undefined : parseClientCertificate(pem)
}

function readDer(encoded: string): ClientCertificate | undefined {
  const bytes = Buffer.from(encoded, 'base64')
  // Node also decodes base64 that is not canonical, but encodes only canonical base64. The comparison therefore rejects
  // base64 that is not canonical. RFC 4648 section 3.5.
  return bytes.length > 0 && bytes.toString('base64') === encoded ? parseClientCertificate(bytes) : undefined
}
