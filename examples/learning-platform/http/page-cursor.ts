/** Returns the cursor of the page after the row with this number. Clients must not parse the cursor. */
export function formatCursor(family: string, after: number): string {
  return Buffer.from(`${family}:${after}`).toString('base64url')
}

/** @returns undefined if formatCursor() did not write the cursor for this family. */
export function parseCursor(family: string, cursor: string): number | undefined {
  const match = /^([a-z_]+):(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (match === null || match[1] !== family) return undefined
  const after = Number(match[2])
  return formatCursor(family, after) === cursor ? after : undefined
}
