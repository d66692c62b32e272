/**
 * Reads a body up to a limit. Drops a larger body together with its connection.
 * @param limitBytes maximum size in bytes.
 * @returns the bytes, or undefined when the body is larger.
 */
export async function readLimitedBytes(
  body: AsyncIterable<Buffer>,
  limitBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > limitBytes) return undefined // leaving the loop destroys the body
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

/** Does the same for a text in UTF-8. */
export async function readLimited(
  body: AsyncIterable<Buffer>,
  limitBytes: number,
): Promise<string | undefined> {
  return (await readLimitedBytes(body, limitBytes))?.toString('utf8')
}
