import { foldHeaderName } from './header-kind.ts'
import type { McpCall } from './mcp-call.ts'

/** Result for a header that occurs more than once or in another spelling: the value of the header is ambiguous. */
export const AMBIGUOUS = Symbol('ambiguous')

/** Access to the headers of a request by name in lower case. */
export type HeaderSource = {
  /** @returns undefined if the header is missing. */
  header(name: string): string | undefined | typeof AMBIGUOUS
  /** The MCP call in the body, on a path with `mcp.readBody`. */
  readonly mcpCall?: McpCall | undefined
}

/**
 * Finds a header among the headers for an upstream.
 * Servers that fold names (CGI, WSGI) read `school_id` and `School-Id` as one header. A second spelling could therefore
 * give the header a second value. For this reason, any spelling other than `name` makes the header ambiguous.
 * @param headers name, value, name, value.
 * @param name in lower case, with letters, digits and `-` only.
 */
export function findHeader(headers: readonly string[], name: string): string | undefined | typeof AMBIGUOUS {
  let value: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const written = headers[i] as string
    if (written.length !== name.length) continue
    const lower = written.toLowerCase()
    if (lower !== name && foldHeaderName(lower) !== name) continue
    if (lower !== name || value !== undefined) return AMBIGUOUS
    value = headers[i + 1] as string
  }
  return value
}
