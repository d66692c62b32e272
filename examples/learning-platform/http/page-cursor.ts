/** Writes the cursor of the page that follows the row with this number. Opaque to clients. */
export function formatCursor(family: string, after: number): string {
  return Buffer.from(`${family}:${after}`).toString('base64url')
}

/** Reads a cursor of this family. @returns undefined when it is not one that formatCursor() wrote. */
export function parseCursor(family: string, cursor: string): number | undefined {
  const match = /^([a-z_]+):(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (match === null || match[1] !== family) return undefined
  const after = Number(match[2])
  return formatCursor(family, after) === cursor ? after : undefined
}
