import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { NEVER_OVERLOADED } from './never-overloaded.ts'

export type SoakConfig = {
  /** Folder for configuration and policies. */
  readonly folder: string
  /** The upstream of `/pub/**`. */
  readonly upstream: string
  /** Additional settings of the upstream. Default time until the first byte of a response: `10s`. */
  readonly upstreamSettings?: Readonly<Record<string, unknown>>
  /** Additional rules of the route. */
  readonly route?: Readonly<Record<string, unknown>>
  /** Additional routes in policy format. */
  readonly moreRoutes?: readonly Readonly<Record<string, unknown>>[]
  /** Additional settings of config/gateway.yaml. By default, event-loop delay does not count as overload. */
  readonly settings?: Readonly<Record<string, unknown>>
}

const ROUTE = {
  name: 'all',
  match: { methods: ['GET', 'POST', 'PUT'], path: '/pub/**' },
  anonymous: 'allow',
}
const POLICY = { apiVersion: 'scopegate/v1', kind: 'Policy', name: 'soak', owner: 'soak', upstream: 'api' }

/** By default, the only route accepts requests without a token. */
export function writeSoakConfig(options: SoakConfig): void {
  const { folder, upstream } = options
  const policies = join(folder, 'policies')
  mkdirSync(policies, { recursive: true })
  const routes = [{ ...ROUTE, ...options.route }, ...(options.moreRoutes ?? [])]
  writeFileSync(join(policies, 'soak.policy.yaml'), JSON.stringify({ ...POLICY, routes })) // JSON is valid YAML
  writeFileSync(join(folder, 'secret'), 'unused-introspection-secret', { mode: 0o600 })
  writeFileSync(
    join(folder, 'upstreams.yaml'),
    JSON.stringify({ api: { url: upstream, timeout: '10s', ...options.upstreamSettings } }),
  )
  copyFileSync(join(findPackageRoot(), 'config', 'scopes.yaml'), join(folder, 'scopes.yaml'))
  const nobody = 'http://127.0.0.1:1'
  const config = {
    baseUrl: 'http://127.0.0.1:8080',
    name: 'Soak',
    listen: { host: '127.0.0.1', port: 0 },
    management: { host: '127.0.0.1', port: 0 },
    policies: './policies',
    scopes: './scopes.yaml',
    upstreams: './upstreams.yaml',
    issuers: [
      {
        issuer: nobody,
        introspection: { endpoint: nobody, clientId: 'gateway', clientSecretFile: './secret' },
      },
    ],
    drain: { delay: '0s' },
    ...NEVER_OVERLOADED,
    ...options.settings,
  }
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config))
}
