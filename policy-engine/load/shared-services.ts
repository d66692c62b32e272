import { foldedPrefix } from '../match/fold-path.ts'

/** The part of a policy source that determines which services it uses. */
type ServiceUser = {
  readonly name: string
  readonly permissions: {
    readonly pathPrefixes: readonly string[]
    readonly upstreams: readonly string[]
    readonly addresses: readonly string[]
  }
}

export type UpstreamAddresses = ReadonlyMap<string, readonly string[]>

/** The part of a service that an upstream reaches. */
type Reach = {
  /** Results of `serviceOf()`. If the addresses are unknown: `name:` and the name of the upstream. */
  readonly services: readonly string[]
  /** Folded segments of the base path. Every request path begins with these segments. */
  readonly base: readonly string[]
}

/** A part of a service that another policy source may use. */
export type Neighbour = {
  readonly source: ServiceUser
  /** Folded segments of the base path at which the routes of the source begin. */
  readonly base: readonly string[]
}

export type SharedServices = {
  /**
   * Returns the folded segments of the base path of an upstream.
   * @param own the addresses of an upstream that the source defines.
   */
  baseOf(upstream: string, own?: readonly string[]): readonly string[]
  /**
   * Returns the parts of services that other sources may use and that this upstream reaches. Two upstreams share paths
   * if they have the same service (`serviceOf()`), and if one base path contains the other base path. If the addresses
   * of an upstream are unknown, its name identifies the service. The result depends on the permissions of the other
   * sources, not on their files.
   * @param own the addresses of an upstream that the source defines.
   */
  neighboursOf(source: ServiceUser, upstream: string, own?: readonly string[]): readonly Neighbour[]
}

/**
 * Creates a lookup of the services that several sources may use.
 * @param addresses undefined: the addresses are unknown. Upstreams with equal names then are the same service.
 */
export function findSharedServices(
  sources: readonly ServiceUser[],
  addresses: UpstreamAddresses | undefined,
): SharedServices {
  const reachOf = (upstream: string, own?: readonly string[]): Reach => {
    const urls = (own ?? addresses?.get(upstream) ?? []).filter((url) => URL.canParse(url))
    return urls.length === 0
      ? { services: [`name:${upstream}`], base: [] }
      : { services: urls.map(serviceOf), base: foldedPrefix(new URL(urls[0] ?? '').pathname) }
  }
  const uses = sources.flatMap((source) => [
    ...source.permissions.upstreams.map((upstream) => ({ source, ...reachOf(upstream) })),
    ...source.permissions.addresses.map((url) => ({ source, ...reachOf(url, [url]) })),
  ])
  const found = new Map<string, readonly Neighbour[]>()
  return {
    baseOf: (upstream, own) => reachOf(upstream, own).base,
    neighboursOf(source, upstream, own) {
      const key = [source.name, upstream, ...(own ?? [])].join(' ')
      const known = found.get(key)
      if (known !== undefined) return known
      const reach = reachOf(upstream, own)
      const neighbours = uses.filter(
        (other) =>
          other.source.name !== source.name &&
          other.services.some((service) => reach.services.includes(service)) &&
          isNested(reach.base, other.base),
      )
      found.set(key, neighbours)
      return neighbours
    },
  }
}

/** Returns whether one of two base paths contains the other base path. Equal paths contain each other. */
function isNested(a: readonly string[], b: readonly string[]): boolean {
  const length = Math.min(a.length, b.length)
  return a.slice(0, length).every((segment, at) => segment === b[at])
}

/**
 * Returns host and port. The result omits the ports 80 and 443, because a server usually has the same content at both
 * ports. All names and addresses of the loopback interface become `localhost`.
 */
export function serviceOf(url: string): string {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/\.$/, '')
  const isLoopback = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(host)
  return `${isLoopback ? 'localhost' : host}:${port === '' || port === '80' || port === '443' ? '' : port}`
}
