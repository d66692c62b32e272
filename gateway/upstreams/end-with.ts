import type { ServerResponse } from 'node:http'

/** Below this, copying a body costs less than a second piece in a write. */
const TEXT_BYTES = 16 * 1024

/** Ends an answer with its only, or last, piece. As Latin-1 text, byte for byte the same, it leaves in one piece with the head. */
export function endWith(response: ServerResponse, chunk: Buffer | string): void {
  if (typeof chunk === 'string') response.end(chunk, 'latin1')
  else if (chunk.length <= TEXT_BYTES) response.end(chunk.toString('latin1'), 'latin1')
  else response.end(chunk)
}
