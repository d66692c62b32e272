const NOTHING: ReadonlySet<string> = new Set()

/**
 * Returns the header names that a `Connection` value nominates as specific to this connection.
 * Source: RFC 9110 section 7.6.1.
 */
export function nominatedHeaders(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined) return NOTHING
  const lower = connection.toLowerCase()
  if (lower === 'keep-alive' || lower === 'close') return NOTHING
  return new Set(lower.split(',').map((token) => token.trim()))
}
