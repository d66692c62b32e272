const STATUS_OK = 'HTTP/1.1 200 '
const HEAD_END = '\r\n\r\n'

/**
 * Judges what one connection has received (as Latin-1) since its last request: a whole answer, right or wrong, or a part of one.
 * Source: RFC 9112 §6. An answer without content-length is wrong here: every subject passes on one that has it.
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
