import type { IncomingHttpHeaders } from 'node:http'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { invalidRequest, type OAuthErrorResponse } from './oauth-error-response.ts'

/** The only parameter that a client may repeat. RFC 8707 section 2. */
const REPEATABLE = 'resource'

/**
 * Reads a form body. The body must be form-encoded UTF-8. Only `resource` may be repeated. Source: RFC 6749 section
 * 3.2, RFC 8707 section 2.
 * @returns the parameters, or the reason to reject the body.
 */
export function readForm(
  headers: IncomingHttpHeaders,
  body: Buffer | undefined,
): { readonly form: URLSearchParams } | { readonly rejected: OAuthErrorResponse } {
  const media = readMediaType(headers['content-type'])
  if (media?.type !== 'application/x-www-form-urlencoded')
    return {
      rejected: invalidRequest('Send the parameters as application/x-www-form-urlencoded in the body.'),
    }
  if (media.charset !== undefined && media.charset !== 'utf-8')
    return { rejected: invalidRequest('The body must be UTF-8.') }
  const form = new URLSearchParams((body ?? Buffer.alloc(0)).toString('utf8'))
  const seen = new Set<string>()
  for (const name of form.keys()) {
    if (seen.has(name) && name !== REPEATABLE)
      return {
        rejected: invalidRequest(`The parameter ${printable(name)} occurs more than once. Send it once.`),
      }
    seen.add(name)
  }
  return { form }
}

function printable(name: string): string {
  return name.slice(0, 40).replace(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?')
}

/**
 * Reads a JSON object body.
 * Source: RFC 7591 section 3.1.
 * @returns the object, or the reason to reject the body.
 */
export function readJsonObject(
  headers: IncomingHttpHeaders,
  body: Buffer | undefined,
): { readonly object: Readonly<Record<string, unknown>> } | { readonly rejected: OAuthErrorResponse } {
  const media = readMediaType(headers['content-type'])
  if (media?.type !== 'application/json' || (media.charset ?? 'utf-8') !== 'utf-8')
    return { rejected: invalidRequest('Send the client metadata as application/json.') }
  const value = parse(body)
  return isRecord(value) ? { object: value } : { rejected: invalidRequest('The body is not a JSON object.') }
}

function parse(body: Buffer | undefined): unknown {
  try {
    return JSON.parse((body ?? Buffer.alloc(0)).toString('utf8'))
  } catch {
    return undefined
  }
}

/**
 * Reads a `Content-Type` value strictly: `type/subtype` with an optional charset. Source: RFC 9110 section 8.3.1.
 * @returns lower-case type and charset; undefined if the value is absent, is not well-formed, or has another parameter.
 */
export function readMediaType(
  value: string | undefined,
): { readonly type: string; readonly charset: string | undefined } | undefined {
  const match = /^([a-z0-9.+-]+\/[a-z0-9.+-]+)(?: *; *charset=("?)([a-z0-9._-]+)\2)? *;?$/i.exec(value ?? '')
  const type = match?.[1]
  return type === undefined ? undefined : { type: type.toLowerCase(), charset: match?.[3]?.toLowerCase() }
}
