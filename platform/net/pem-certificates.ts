const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Returns the PEM certificates of a text, without the text between them. Source: RFC 7468 section 5. */
export function pemCertificates(text: string): readonly string[] {
  return text.match(CERTIFICATE) ?? []
}
