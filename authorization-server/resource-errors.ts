/** Error for a request with several resources. RFC 8707 section 2. */
export const ONE_TARGET = 'name one resource: a token is for one API'

/** Returns the error for a request with an unknown resource. RFC 8707 section 2. */
export function unknownResource(resources: readonly string[]): string {
  const [only, ...others] = resources
  return others.length === 0
    ? `resource must be ${only}, the only API this server issues tokens for`
    : 'this server issues no tokens for that resource; protected_resources in its metadata lists all'
}
