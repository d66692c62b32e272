const STATUS_OK = 'HTTP/1.1 200 '
const HEAD_END = '\r\n\r\n'

/**
 * Classifies the bytes that a connection received after its last request. The parameter is Latin-1 text. A response
 * without `content-length` is wrong, because the upstream always sends `content-length`. Source: RFC 9112 section 6.
 */
export function readResponse(
  received: string,
  expectedBody: string,
): 'right' | 'wrongStatus' | 'wrongBody' | 'incomplete' {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd === -1) return 'incomplete'
  const ok = received.startsWith(STATUS_OK)
  const bodyStart = headEnd + HEAD_END.length
  if (ok && received.length === bodyStart + expectedBody.length && received.endsWith(expectedBody))
    return 'right'

  const length = /^content-length:\s*(\d+)\s*$/im.exec(received.slice(0, headEnd))?.[1]
  if (length !== undefined && received.length < bodyStart + Number(length)) return 'incomplete'
  return ok ? 'wrongBody' : 'wrongStatus'
}
