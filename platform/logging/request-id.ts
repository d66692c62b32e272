import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const POOL_BYTES = 4_096
const ID_BYTES = 10

/**
 * Creates a generator of request IDs: UUIDs of version 7, which sort by time. Random bytes are drawn in bulk.
 * Source: RFC 9562 section 5.7.
 */
export function createRequestIds(nowMs: () => number): () => string {
  let pool = ''
  let at = 0
  let lastMs = -1
  let prefix = ''
  return () => {
    if (at + ID_BYTES * 2 > pool.length) {
      pool = randomBytes(POOL_BYTES).toString('hex')
      at = 0
    }
    const random = pool.slice(at, at + ID_BYTES * 2)
    at += ID_BYTES * 2
    const timeMs = nowMs()
    if (timeMs !== lastMs) {
      lastMs = timeMs
      const time = timeMs.toString(16).padStart(12, '0')
      prefix = `${time.slice(0, 8)}-${time.slice(8, 12)}-7`
    }
    // The prefix contains the version, 7. The second random part follows the variant, which is the two bits `10`.
    const variant = '89ab'[Number.parseInt(random[3] as string, 16) & 3]
    return `${prefix}${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
  }
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,128}$/

/** Returns the request ID from a trusted proxy; `undefined` if the ID is missing or unsuitable for a log line. */
export function readRequestId(request: IncomingMessage): string | undefined {
  const value = request.headers['x-request-id']
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : undefined
}
