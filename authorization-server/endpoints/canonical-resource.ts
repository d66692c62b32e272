import { ONE_TARGET, unknownResource } from '../resource-errors.ts'
import type { OAuthRefusal } from './oauth-refusal.ts'

/**
 * Canonicalizes the `resource` parameters in place, and removes duplicates.
 * RFC 8707 clients send a URL with or without a trailing slash (`new URL(base).href` adds one). Scheme and host may be
 * in any case (RFC 3986 section 6.2.2.1). Tokens carry the form in lower case without the slash.
 * @param resources all resources of this server, without a trailing slash.
 * @returns true when it changed `parameters`.
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
 * Rejects a token request for an unknown resource or for several: an access token is for one. RFC 8707 section 2.
 * This check runs before the engine, because the engine consumes the code or refresh token before it rejects the
 * resource.
 */
export function refuseTarget(form: URLSearchParams, resources: readonly string[]): OAuthRefusal | undefined {
  const asked = form.getAll('resource')
  if (asked.length > 1) return invalidTarget(ONE_TARGET)
  return asked.every((resource) => resources.includes(resource))
    ? undefined
    : invalidTarget(unknownResource(resources))
}

/** Returns an `invalid_target` error. RFC 8707 section 2. */
export function invalidTarget(description: string): OAuthRefusal {
  return { status: 400, error: 'invalid_target', description }
}
