import { isIP } from 'node:net'

const HOST = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/

/**
 * Creates a check of `Host` headers against DNS rebinding. In that attack, a web page points its own host name at this
 * machine. The browser then accepts this machine as the origin of the page. The page's name is not in the list, so the
 * check fails. IP addresses always pass, because DNS cannot redirect them. Kubelets, Prometheus and port-forwards use
 * IP addresses.
 * @param options.host the listen address of the port, which can be a name.
 * @param options.names further names, in any case, with or without a trailing dot.
 */
export function createOwnHost(options: {
  readonly host: string
  readonly names: readonly string[] | undefined
}): (host: string) => boolean {
  const names = new Set(['localhost', options.host, ...(options.names ?? [])].map(plainName))
  return (host) => {
    const [, name = ''] = HOST.exec(host) ?? []
    if (name.startsWith('[')) return isIP(name.slice(1, -1)) === 6
    return isIP(name) === 4 || names.has(plainName(name))
  }
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
