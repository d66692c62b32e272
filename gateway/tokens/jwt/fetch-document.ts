import type { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { readLimited } from '../introspection/read-limited.ts'
import { issuerTls } from '../issuer-tls.ts'
import { IssuerKeysError } from './issuer-keys-error.ts'

export type FetchDocument = (
  address: string,
  limits: { readonly limitBytes: number; readonly timeoutMs: number },
) => Promise<unknown>

/** Fetches JSON documents of an issuer. */
export type DocumentFetcher = { readonly fetchDocument: FetchDocument; close(): Promise<void> }

/**
 * Makes what fetches an issuer's metadata and keys: one GET each, no redirects, no compression, one deadline from the
 * name's look-up to the last byte. Nothing of a request or of a token is in it.
 * @param options.ca the authorities that vouch for the issuer, in PEM; undefined: the public ones.
 * `fetchDocument` throws {IssuerKeysError}: ERR_ISSUER_KEYS_TIMEOUT, _CONNECTION, _STATUS, _RESPONSE.
 */
export function createDocumentFetcher({ ca }: { readonly ca: string | undefined }): DocumentFetcher {
  // One document at a time, minutes apart: no connection is kept.
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
            `${address} answered with status ${statusCode}.`,
          )
        }
        if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
          drop(body)
          throw new IssuerKeysError('ERR_ISSUER_KEYS_RESPONSE', `${address} answered with a compressed body.`)
        }
        const text = await readLimited(body, limitBytes)
        if (text === undefined)
          throw new IssuerKeysError(
            'ERR_ISSUER_KEYS_RESPONSE',
            `${address} answered with more than ${limitBytes} bytes.`,
          )
        return parse(text, address)
      } catch (error) {
        if (error instanceof IssuerKeysError) throw error
        if (signal.aborted)
          throw new IssuerKeysError(
            'ERR_ISSUER_KEYS_TIMEOUT',
            `${address} gave no complete answer within ${timeoutMs} ms.`,
          )
        throw new IssuerKeysError('ERR_ISSUER_KEYS_CONNECTION', `The connection to ${address} failed.`, {
          cause: error,
        })
      }
    },
    close: () => dispatcher.destroy(),
  }
}

/** Ends an answer that is of no use, with its connection; what it says to that is no news. */
function drop(body: Readable): void {
  body.on('error', () => undefined)
  body.destroy()
}

function parse(text: string, address: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text: the cause is not kept.
    throw new IssuerKeysError('ERR_ISSUER_KEYS_RESPONSE', `${address} did not answer with JSON.`)
  }
}
