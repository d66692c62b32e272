const SEPARATOR = /[^a-z0-9-]/
const SEPARATORS = /[^a-z0-9-]/g

/**
 * Replaces every character other than a letter, a digit or `-` with `-`, as CGI and WSGI servers do.
 * They read `x_auth_subject` as `X-Auth-Subject`. Some of them also fold `x!auth!subject`.
 * @param lowerName in lower case.
 */
export function foldHeaderName(lowerName: string): string {
  return SEPARATOR.test(lowerName) ? lowerName.replace(SEPARATORS, '-') : lowerName
}
