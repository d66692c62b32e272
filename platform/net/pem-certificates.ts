const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** The certificates of a text, each in PEM; what stands between them is left out. Source: RFC 7468 section 5. */
export function pemCertificates(text: string): readonly string[] {
  return text.match(CERTIFICATE) ?? []
}
