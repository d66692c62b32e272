import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { NEVER_OVERLOADED } from './never-overloaded.ts'

const POLICY = { apiVersion: 'scopegate/v1', kind: 'Policy', name: 'soak', owner: 'soak', upstream: 'api' }
/** The timeouts are long, because a slow response on a busy machine must not count as a failure of an upstream. */
const PATIENT = { timeout: '60s', connectTimeout: '30s' }

/**
 * Writes configuration and policies of a gateway in front of authorization servers. The files contain JSON, which is
 * valid YAML.
 */
export function writeClusterConfig(
  folder: string,
  options: {
    readonly routes: readonly object[]
    /** URLs of the upstream and of the authorization servers. */
    readonly upstreams: { readonly api: string; readonly servers: readonly string[] }
    readonly settings: Readonly<Record<string, unknown>>
  },
): void {
  const write = (file: string, content: object) => writeFileSync(join(folder, file), JSON.stringify(content))
  mkdirSync(join(folder, 'policies'), { recursive: true })
  copyFileSync(join(findPackageRoot(), 'config', 'scopes.yaml'), join(folder, 'scopes.yaml'))
  write('policies/soak.policy.yaml', { ...POLICY, routes: options.routes })
  write('upstreams.yaml', {
    api: { url: options.upstreams.api, ...PATIENT },
    'authorization-server': { urls: options.upstreams.servers, ...PATIENT },
  })
  write('gateway.yaml', {
    ...options.settings,
    name: 'Soak',
    management: { host: '127.0.0.1', port: 0 },
    policies: './policies',
    scopes: './scopes.yaml',
    upstreams: './upstreams.yaml',
    authorizationServer: { upstream: 'authorization-server' },
    drain: { delay: '0s' },
    ...NEVER_OVERLOADED,
  })
}
