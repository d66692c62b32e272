/**
 * RFC 8707 clients send the base URL with or without a trailing slash (`new URL(base).href` adds one): both name the
 * same API, and tokens carry the form without. A repeated value counts once. Changes `parameters`.
 * @returns true when something changed.
 */
export function canonicaliseResource(parameters: URLSearchParams, issuer: string): boolean {
  const given = parameters.getAll('resource')
  const canonical = [...new Set(given.map((value) => (value === `${issuer}/` ? issuer : value)))]
  if (given.length === canonical.length && given.every((value, index) => value === canonical[index]))
    return false
  parameters.delete('resource')
  for (const value of canonical) parameters.append('resource', value)
  return true
}
