import type { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { readLimited } from '../../../platform/net/read-limited.ts'
import { issuerTls } from '../issuer-tls.ts'
import { IssuerKeysError } from './issuer-keys-error.ts'

export type FetchDocument = (
  address: string,
  limits: { readonly limitBytes: number; readonly timeoutMs: number },
) => Promise<unknown>

export type DocumentFetcher = { readonly fetchDocument: FetchDocument; close(): Promise<void> }

/**
 * Creates a fetcher for the metadata and keys of an issuer. Each fetch is one GET without redirects and compression.
 * One deadline covers the time from the DNS lookup to the last byte. The GET contains no data of a client request or a
 * token.
 * The fetcher rejects with {IssuerKeysError}: ERR_ISSUER_KEYS_TIMEOUT, _CONNECTION, _STATUS, _RESPONSE.
 * @param options.ca CA certificates for connections to the issuer, in PEM. Undefined: the public CA certificates.
 */
export function createDocumentFetcher({ ca }: { readonly ca: string | undefined }): DocumentFetcher {
  // Fetches are minutes apart, one document at a time, so no connection is kept open.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 0, connect: issuerTls(ca) })
  return {
    async fetchDocument(address, { limitBytes, timeoutMs }) {
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        const { statusCode, headers, body } = await request(address, {
          dispatcher,
          signal,
          headers: { accept: 'application/json', 'accept-encoding': 'identity' },
        })
        if (statusCode !== 200) {
          drop(body)
          throw new IssuerKeysError(
            'ERR_ISSUER_KEYS_STATUS',
            `${address} responded with status ${statusCode}.`,
          )
        }
        if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
          drop(body)
          throw new IssuerKeysError('ERR_ISSUER_KEYS_RESPONSE', `${address} sent a compressed response.`)
        }
        const text = await readLimited(body, limitBytes)
        if (text === undefined)
          throw new IssuerKeysError(
            'ERR_ISSUER_KEYS_RESPONSE',
            `${address} sent more than ${limitBytes} bytes.`,
          )
        return parse(text, address)
      } catch (error) {
        if (error instanceof IssuerKeysError) throw error
        if (signal.aborted)
          throw new IssuerKeysError(
            'ERR_ISSUER_KEYS_TIMEOUT',
            `${address} sent no complete response within ${timeoutMs} ms.`,
          )
        throw new IssuerKeysError('ERR_ISSUER_KEYS_CONNECTION', `The connection to ${address} failed.`, {
          cause: error,
        })
      }
    },
    close: () => dispatcher.destroy(),
  }
}

/** Closes the connection of an unusable response. Errors while the connection closes are expected. */
function drop(body: Readable): void {
  body.on('error', () => undefined)
  body.destroy()
}

function parse(text: string, address: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The message of the parser error quotes the text. The new error therefore does not include the parser error as its
    // cause.
    throw new IssuerKeysError('ERR_ISSUER_KEYS_RESPONSE', `${address} did not send JSON.`)
  }
}
