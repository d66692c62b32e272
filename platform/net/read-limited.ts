import { LimitedBuffer } from './limited-buffer.ts'

/**
 * Reads a body up to a limit. Drops a larger body together with its connection.
 * @param limitBytes maximum size in bytes.
 * @returns the bytes, or undefined when the body is larger.
 */
export async function readLimitedBytes(
  body: AsyncIterable<Buffer>,
  limitBytes: number,
): Promise<Buffer | undefined> {
  const bytes = new LimitedBuffer(limitBytes)
  // Leaving the loop destroys the body.
  for await (const chunk of body) if (!bytes.add(chunk)) return undefined
  return bytes.content
}

/** Does the same for a text in UTF-8. */
export async function readLimited(
  body: AsyncIterable<Buffer>,
  limitBytes: number,
): Promise<string | undefined> {
  return (await readLimitedBytes(body, limitBytes))?.toString('utf8')
}
