import { foldHeaderName } from './fold-header-name.ts'

/** Prefixes of headers that only the gateway may send, to upstreams and to clients. */
export const OWN_PREFIXES = ['x-auth-', 'x-scopegate-'] as const
const REQUEST_ID = 'x-request-id'
const LETTER_X = 120

/**
 * Returns whether only the gateway may send a response header with this name, in any spelling.
 * @param lowerName in lower case.
 */
export function isOwnHeader(lowerName: string): boolean {
  if (lowerName.charCodeAt(0) !== LETTER_X) return false
  const folded = foldHeaderName(lowerName)
  return folded === REQUEST_ID || OWN_PREFIXES.some((prefix) => folded.startsWith(prefix))
}
