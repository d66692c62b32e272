import { PAGE_STYLE_SOURCE } from './page-style.ts'

/**
 * The headers of every page: nothing is loaded but the embedded stylesheet, nobody frames it, nothing is cached, and
 * no address of it leaks.
 * @param formTargets what forms may lead to, redirects included; undefined leaves them free, see the consent page.
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
