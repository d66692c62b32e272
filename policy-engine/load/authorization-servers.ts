/**
 * Returns the names of the upstreams that lead to the authorization server.
 * These are the upstream with the name `named`, and each upstream that shares an origin with this upstream or with an
 * endpoint.
 * @param options.endpoints URLs of the authorization server, such as its introspection endpoint.
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
