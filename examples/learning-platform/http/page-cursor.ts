/** Returns the cursor of the page after the row with this number. Opaque to clients. */
export function formatCursor(family: string, after: number): string {
  return Buffer.from(`${family}:${after}`).toString('base64url')
}

/**
 * Parses a cursor of this family.
 * @returns undefined when formatCursor() did not write it.
 */
export function parseCursor(family: string, cursor: string): number | undefined {
  const match = /^([a-z_]+):(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (match === null || match[1] !== family) return undefined
  const after = Number(match[2])
  return formatCursor(family, after) === cursor ? after : undefined
}
