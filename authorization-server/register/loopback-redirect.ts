const HIGHEST_PORT = 65_535

/**
 * Returns whether a redirect URI is `http://<host>:<port>/<path>` with one of the accepted loopback hosts.
 * The spelling must be exact and canonical: no user name, fragment, dot segments or unencoded characters. With
 * `portOptional`, the port may be absent.
 * Source: docs/interface.md section 5.4, RFC 8252 section 7.3.
 */
export function isLoopbackRedirect(
  uri: string,
  {
    loopbackHosts,
    portOptional,
  }: { readonly loopbackHosts: readonly string[]; readonly portOptional: boolean },
): boolean {
  const match = /^http:\/\/(\[[0-9a-f:]+\]|[a-z0-9.]+)(?::([1-9][0-9]{0,4}))?(\/[^\s#]*)$/.exec(uri)
  const [, host, port, rest] = match ?? []
  if (host === undefined || rest === undefined) return false
  if (port === undefined && !portOptional) return false
  if (Number(port ?? 80) > HIGHEST_PORT || !loopbackHosts.includes(host)) return false
  const parsed = URL.parse(uri)
  return parsed !== null && parsed.pathname + parsed.search === rest
}
