/** Where the browser goes when the person has decided. */
export type RedirectTarget = {
  /** Host and port as the person may compare them, or the scheme of an app's own address. */
  readonly shown: string
  /** An app on the person's own device: it cannot prove who it is. RFC 8252 section 8.6. */
  readonly onThisDevice: boolean
  /**
   * What a `form-action` policy must name besides 'self', since Chromium holds the whole redirect chain of a form
   * against it; undefined when the policy language cannot name it (IPv6 literals).
   */
  readonly policySource: string | undefined
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Reads the redirect address of an authorization request. Source: RFC 8252 section 7. */
export function readRedirectTarget(redirectUri: string): RedirectTarget {
  if (!URL.canParse(redirectUri))
    return { shown: 'an unknown place', onThisDevice: false, policySource: undefined }
  const url = new URL(redirectUri)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { shown: url.protocol.slice(0, -1), onThisDevice: true, policySource: url.protocol }
  return {
    shown: url.host,
    onThisDevice: LOOPBACK_HOSTS.has(url.hostname),
    policySource: url.hostname.startsWith('[') ? undefined : url.origin,
  }
}
