import { serviceOf } from './shared-services.ts'

type NamedAddresses = { readonly name: string; readonly urls: readonly string[] }

/**
 * Returns a function that selects the upstreams that lead to the authorization server.
 * These are the upstream with the name `named`, and each upstream that has the same host and port as this upstream
 * or as an endpoint.
 * @param upstreams the upstreams of the operator, which contain `named`.
 * @param options.endpoints URLs of the authorization server, such as its introspection endpoint.
 */
export function authorizationServerFinder(
  upstreams: readonly NamedAddresses[],
  options: { readonly named: string | undefined; readonly endpoints: readonly string[] },
): (among: readonly NamedAddresses[]) => ReadonlySet<string> {
  const named = upstreams.filter(({ name }) => name === options.named)
  const addresses = [...named.flatMap(({ urls }) => urls), ...options.endpoints]
  const services = new Set(addresses.map(serviceOf))
  return (among) =>
    new Set(
      among.filter(({ urls }) => urls.some((url) => services.has(serviceOf(url)))).map(({ name }) => name),
    )
}
