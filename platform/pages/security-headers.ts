/**
 * Returns the headers that every page has. Browsers do not frame or cache the page, do not guess its type, and do not
 * send its URL as a referrer.
 * @param sources directives of the content security policy, in addition to `default-src 'none'`.
 * @param formTargets allowed targets of forms and their redirects. Undefined: any target.
 */
export function securityHeaders(
  sources: readonly string[],
  formTargets: readonly string[] | undefined,
): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    ...sources,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(formTargets === undefined ? [] : [`form-action ${formTargets.join(' ') || "'none'"}`]),
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  }
}
