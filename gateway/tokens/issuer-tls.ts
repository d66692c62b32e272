/** TLS options for connections to an issuer, with the names of `node:tls`. */
export type IssuerTls = { readonly rejectUnauthorized: true; readonly ca?: string }

/**
 * Returns TLS options that always verify the issuer's certificate, regardless of the value of
 * NODE_TLS_REJECT_UNAUTHORIZED. These connections carry client secrets, tokens and keys.
 * @param ca trusted CA certificates in PEM. Undefined: the default CA certificates of the process.
 */
export function issuerTls(ca: string | undefined): IssuerTls {
  return { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) }
}
