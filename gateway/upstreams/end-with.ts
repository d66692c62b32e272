import type { ServerResponse } from 'node:http'

/** Up to this size, copying a body is cheaper than a second buffer in the write. Bytes. */
const TEXT_BYTES = 16 * 1024

/**
 * Ends a response with its last chunk. Node sends a Latin-1 string, which is byte-identical, in one write with the
 * head.
 */
export function endWith(response: ServerResponse, chunk: Buffer | string): void {
  if (typeof chunk === 'string') response.end(chunk, 'latin1')
  else if (chunk.length <= TEXT_BYTES) response.end(chunk.toString('latin1'), 'latin1')
  else response.end(chunk)
}
