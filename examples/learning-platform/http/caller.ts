import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../families/family.ts'

/**
 * Reads the caller from the headers that the gateway sets. The service trusts these headers, because the gateway
 * validated the token and removed client headers with these names.
 * @returns undefined for an anonymous caller.
 */
export function readCaller(headers: IncomingHttpHeaders): Caller | undefined {
  const subject = single(headers['x-auth-subject'])
  if (subject === undefined) return undefined
  return {
    subject,
    clientId: single(headers['x-auth-client-id']),
    scopes: (single(headers['x-auth-scope']) ?? '').split(' ').filter((scope) => scope !== ''),
  }
}

function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
