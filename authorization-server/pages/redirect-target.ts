/** Target of the redirect after the decision of the person. */
export type RedirectTarget = {
  /** Host and port for the person to compare, or the scheme of a private-use URI. */
  readonly shown: string
  /** True for an app on the device of the person, which cannot prove its identity. RFC 8252 section 8.6. */
  readonly onThisDevice: boolean
  /**
   * The source that a `form-action` policy needs besides 'self', because Chromium applies the policy to all redirects.
   * Undefined when CSP cannot express the target (IPv6 literals).
   */
  readonly policySource: string | undefined
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Reads the redirect URI of an authorization request. Source: RFC 8252 section 7. */
export function readRedirectTarget(redirectUri: string): RedirectTarget {
  if (!URL.canParse(redirectUri))
    return { shown: 'an unknown target', onThisDevice: false, policySource: undefined }
  const url = new URL(redirectUri)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { shown: url.protocol.slice(0, -1), onThisDevice: true, policySource: url.protocol }
  return {
    shown: url.host,
    onThisDevice: LOOPBACK_HOSTS.has(url.hostname),
    policySource: url.hostname.startsWith('[') ? undefined : url.origin,
  }
}
