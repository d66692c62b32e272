/** How a connection to an issuer is secured, in the words of `node:tls`. */
export type IssuerTls = { readonly rejectUnauthorized: true; readonly ca?: string }

/**
 * Who is believed to be an issuer: its certificate is verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says. Client secrets and
 * tokens go there, and keys come from there.
 * @param ca the authorities that are believed, in PEM; undefined: those of the process.
 */
export function issuerTls(ca: string | undefined): IssuerTls {
  return { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) }
}
