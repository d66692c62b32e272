import type { IncomingHttpHeaders } from 'node:http'
import { invalidRequest, type OAuthRefusal } from './oauth-refusal.ts'
import { readMediaType } from './read-media-type.ts'

/** The only parameter that a client may repeat. RFC 8707 section 2. */
const REPEATABLE = 'resource'

/**
 * Reads a form body: form-encoded UTF-8, no parameter more than once.
 * Source: RFC 6749 section 3.2.
 * @returns the parameters, or the reason to reject the body.
 */
export function readForm(
  headers: IncomingHttpHeaders,
  body: Buffer | undefined,
): { readonly form: URLSearchParams } | { readonly refused: OAuthRefusal } {
  const media = readMediaType(headers['content-type'])
  if (media?.type !== 'application/x-www-form-urlencoded')
    return {
      refused: invalidRequest('Send the parameters as application/x-www-form-urlencoded in the body.'),
    }
  if (media.charset !== undefined && media.charset !== 'utf-8')
    return { refused: invalidRequest('The body must be UTF-8.') }
  const form = new URLSearchParams((body ?? Buffer.alloc(0)).toString('utf8'))
  const seen = new Set<string>()
  for (const name of form.keys()) {
    if (seen.has(name) && name !== REPEATABLE)
      return {
        refused: invalidRequest(`The parameter ${printable(name)} occurs more than once. Send it once.`),
      }
    seen.add(name)
  }
  return { form }
}

function printable(name: string): string {
  return name.slice(0, 40).replace(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?')
}
