import { ONE_TARGET, unknownResource } from '../resource-errors.ts'
import type { OAuthRefusal } from './oauth-refusal.ts'

/**
 * RFC 8707 clients send an address with or without a trailing slash (`new URL(base).href` adds one), and scheme and host in any
 * case (RFC 3986 section 6.2.2.1): all name the same API, and tokens carry the form in small letters without the slash. A
 * repeated value counts once. Changes `parameters`.
 * @param resources every API there is, without a trailing slash.
 * @returns true when something changed.
 */
export function canonicalizeResource(parameters: URLSearchParams, resources: readonly string[]): boolean {
  const given = parameters.getAll('resource')
  const canonical = [...new Set(given.map((value) => canonicalForm(value, resources)))]
  if (given.length === canonical.length && given.every((value, index) => value === canonical[index]))
    return false
  parameters.delete('resource')
  for (const value of canonical) parameters.append('resource', value)
  return true
}

function canonicalForm(value: string, resources: readonly string[]): string {
  const plain = value.replace(/^[a-z]+:\/\/[^/?#]*/i, (origin) => origin.toLowerCase())
  return resources.find((resource) => plain === resource || plain === `${resource}/`) ?? value
}

/**
 * Refuses a token request for an API that there is not, or for several: an access token is for one. RFC 8707 section 2.
 * Said before the engine sees the request: it would use the code or refresh token up first and refuse afterwards.
 */
export function refuseTarget(form: URLSearchParams, resources: readonly string[]): OAuthRefusal | undefined {
  const asked = form.getAll('resource')
  if (asked.length > 1) return invalidTarget(ONE_TARGET)
  return asked.every((resource) => resources.includes(resource))
    ? undefined
    : invalidTarget(unknownResource(resources))
}

/** RFC 8707 section 2. */
export function invalidTarget(description: string): OAuthRefusal {
  return { status: 400, error: 'invalid_target', description }
}
