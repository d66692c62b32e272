import { PAGE_STYLE_SOURCE } from './page-style.ts'

/**
 * Returns the headers of every page.
 * The page loads only the embedded stylesheet. It cannot be framed or cached, and its URL is not sent as a referrer.
 * @param formTargets allowed targets of forms and their redirects. Undefined: any target; see the consent page.
 */
export function pageHeaders(formTargets: readonly string[] | undefined): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `style-src ${PAGE_STYLE_SOURCE}`,
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
