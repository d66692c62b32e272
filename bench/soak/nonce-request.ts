import { randomBelow, randomOf, randomSize } from './random.ts'
import { repeatNonce } from './repeat-nonce.ts'

/** The query, a header and every part of the body contain the nonce. */
export type NonceRequest = {
  readonly nonce: string
  readonly method: string
  /** Expected body size of the response. */
  readonly responseBytes: number
  /** The complete request. One character is one byte. */
  readonly text: string
}

const MAX_RESPONSE_BYTES = 100_000
const LARGEST_BODY_BYTES = 50_000

/** Creates the request for a unique serial number. */
export function nonceRequest(serial: number, host: string): NonceRequest {
  const nonce = `${serial.toString(36).padStart(7, '0')}${randomBelow(1_296).toString(36).padStart(2, '0')}.`
  const method = randomOf(['GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'HEAD'])
  const hasBody = method === 'POST' || method === 'PUT' || Math.random() < 0.05
  const body = hasBody ? repeatNonce(nonce, randomSize(LARGEST_BODY_BYTES)) : ''
  const responseBytes = randomSize(MAX_RESPONSE_BYTES)
  const framing = randomOf(['length', 'length', 'chunked'])
  const head = [
    `${method} /pub/bleed?n=${nonce}&bytes=${responseBytes}&framing=${framing} HTTP/1.1`,
    `host: ${host}`,
    `x-nonce: ${nonce}`,
    `x-bytes: ${body.length}`,
  ]
  if (hasBody && Math.random() < 0.1) head.push('expect: 100-continue') // the client does not wait for status 100
  let text: string
  if (!hasBody) text = [...head, '', ''].join('\r\n')
  else if (Math.random() < 0.5) text = [...head, `content-length: ${body.length}`, '', body].join('\r\n')
  else text = [...head, 'transfer-encoding: chunked', '', chunked(body)].join('\r\n')
  return { nonce, method, responseBytes: method === 'HEAD' ? 0 : responseBytes, text }
}

function chunked(body: string): string {
  let text = ''
  for (let at = 0; at < body.length; ) {
    const chunk = body.slice(at, at + 1 + randomSize(LARGEST_BODY_BYTES))
    text += `${chunk.length.toString(16)}\r\n${chunk}\r\n`
    at += chunk.length
  }
  return `${text}0\r\n\r\n`
}
