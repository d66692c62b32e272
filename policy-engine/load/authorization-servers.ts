/**
 * The upstreams that lead to the authorization server: the one that is named so, and any other at one of its addresses.
 * @param options.endpoints addresses of its own, such as that of introspection.
 */
export function authorizationServersAmong(
  upstreams: readonly { readonly name: string; readonly urls: readonly string[] }[],
  options: { readonly named: string | undefined; readonly endpoints: readonly string[] },
): ReadonlySet<string> {
  const named = upstreams.filter(({ name }) => name === options.named)
  const addresses = [...named.flatMap(({ urls }) => urls), ...options.endpoints]
  const origins = new Set(addresses.map((address) => new URL(address).origin))
  return new Set(
    upstreams
      .filter(({ urls }) => urls.some((url) => origins.has(new URL(url).origin)))
      .map(({ name }) => name),
  )
}
