import { isIP } from 'node:net'

const HOST = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/

/**
 * Makes a check of `Host` headers against DNS rebinding: a page that points a name of its own at this machine is, for a
 * browser, at home here; but its name is none of ours. Addresses cannot be pointed elsewhere, so they are always taken:
 * kubelets, Prometheus and port-forwards use them.
 * @param options.host what the port listens on, if it is a name.
 * @param options.names further names, in any case, with or without the dot at their end.
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
