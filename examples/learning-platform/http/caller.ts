import type { IncomingHttpHeaders } from 'node:http'
import type { Asker } from '../families/family.ts'

/**
 * Reads who asks from the headers that the gateway sets. They are trusted as they are: the gateway in front has
 * checked the token and thrown away whatever the client itself sent under these names.
 * @returns undefined for the public.
 */
export function readCaller(headers: IncomingHttpHeaders): Asker | undefined {
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
