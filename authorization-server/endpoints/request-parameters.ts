import { ONE_TARGET, unknownResource } from '../engine/request-rules.ts'
import type { OAuthErrorResponse } from './oauth-error-response.ts'

/**
 * Canonicalizes the `resource` parameters in place, and removes duplicates. Unknown resources stay unchanged. RFC 8707
 * clients send a URL with or without a trailing slash (`new URL(base).href` adds the slash). Scheme and host may be in
 * any case (RFC 3986 section 6.2.2.1). In tokens, scheme and host are in lower case, and the trailing slash is absent.
 * @param resources all resources of this server, without a trailing slash.
 * @returns whether the function changed `parameters`.
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
 * Rejects a token request for an unknown resource or several resources. An access token is for one resource.
 * This check runs before the engine, because the engine would consume the code or refresh token first.
 * Source: RFC 8707 section 2.
 */
export function findInvalidTarget(
  form: URLSearchParams,
  resources: readonly string[],
): OAuthErrorResponse | undefined {
  const asked = form.getAll('resource')
  if (asked.length > 1) return invalidTarget(ONE_TARGET)
  return asked.every((resource) => resources.includes(resource))
    ? undefined
    : invalidTarget(unknownResource(resources))
}

/** Returns an `invalid_target` error. RFC 8707 section 2. */
export function invalidTarget(description: string): OAuthErrorResponse {
  return { status: 400, error: 'invalid_target', description }
}

/** Maximum length of `state`. Web frameworks send up to about 1,200 characters. */
const MAX_STATE_LENGTH = 2_048
/**
 * Maximum length of any other name or value. Sufficient for a `scope` with all scopes of a catalogue with 200 scopes.
 */
const MAX_PARAMETER_LENGTH = 4_096
/** Maximum length of all names and values together. */
const MAX_TOTAL_LENGTH = 8_192

/**
 * Checks the size of an authorization request, because the server stores the request before the person authenticates.
 * @returns the reason to reject the request, or undefined.
 */
export function findLongParameter(parameters: URLSearchParams): string | undefined {
  let total = 0
  for (const [name, value] of parameters) {
    const longest = name === 'state' ? MAX_STATE_LENGTH : MAX_PARAMETER_LENGTH
    if (name.length > MAX_PARAMETER_LENGTH || value.length > longest)
      return name === 'state'
        ? `state is longer than ${longest} characters.`
        : `The name or value of a parameter is longer than ${longest} characters.`
    total += name.length + value.length
  }
  return total > MAX_TOTAL_LENGTH
    ? `The parameters together are longer than ${MAX_TOTAL_LENGTH} characters.`
    : undefined
}
