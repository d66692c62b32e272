import type { IncomingHttpHeaders } from 'node:http'
import { invalidRequest, type OAuthRefusal } from './oauth-refusal.ts'
import { readMediaType } from './read-media-type.ts'

/**
 * Reads a JSON object body.
 * Source: RFC 7591 section 3.1.
 * @returns the object, or the reason to reject the body.
 */
export function readJsonObject(
  headers: IncomingHttpHeaders,
  body: Buffer | undefined,
): { readonly object: Readonly<Record<string, unknown>> } | { readonly refused: OAuthRefusal } {
  const media = readMediaType(headers['content-type'])
  if (media?.type !== 'application/json' || (media.charset ?? 'utf-8') !== 'utf-8')
    return { refused: invalidRequest('Send the client metadata as application/json.') }
  const value = parse(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { refused: invalidRequest('The body is not a JSON object.') }
  return { object: value as Readonly<Record<string, unknown>> }
}

function parse(body: Buffer | undefined): unknown {
  try {
    return JSON.parse((body ?? Buffer.alloc(0)).toString('utf8'))
  } catch {
    return undefined
  }
}
