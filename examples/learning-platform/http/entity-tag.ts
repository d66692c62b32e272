import { createHash } from 'node:crypto'

/** Returns the strong entity tag of a representation. Source: RFC 9110 section 8.8.3. */
export function entityTag(representation: object): string {
  return `"${createHash('sha256').update(JSON.stringify(representation)).digest('base64url').slice(0, 22)}"`
}

/**
 * Returns whether a header with entity tags contains this tag.
 * Source: RFC 9110 sections 13.1.1 (If-Match, strong comparison) and 13.1.2 (If-None-Match, weak comparison).
 */
export function matchesTag(header: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  return header.split(',').some((part) => {
    const candidate = part.trim()
    return candidate === '*' || (comparison === 'weak' ? candidate.replace(/^W\//, '') : candidate) === tag
  })
}
