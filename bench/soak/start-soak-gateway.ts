import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../runtime/package-root.ts'
import type { Cleanup } from '../cleanup.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'

/** A gateway in a process of its own. */
export type SoakGateway = {
  readonly url: string
  readonly managementUrl: string
  readonly process: BenchProcess
}

/** How a gateway differs from the plain one of a soak test. */
export type SoakGatewayOptions = {
  /** Where configuration and policies are written. */
  readonly folder: string
  readonly cleanup: Cleanup
  /** What stands behind `/pub/**`. */
  readonly upstream: string
  /** What it gives the upstream until an answer begins, `10s` when not given. */
  readonly timeout?: string
  /** What the policy says of the route beyond methods and path. */
  readonly route?: Readonly<Record<string, unknown>>
  /** Routes beside that one, as a policy has them. */
  readonly moreRoutes?: readonly Readonly<Record<string, unknown>>[]
  /** Settings of config/gateway.yaml beyond the addresses. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Node.js options such as `--max-old-space-size=256`. */
  readonly nodeOptions?: readonly string[]
  /** A file descriptor for its log; dropped when not given. */
  readonly stdout?: number
}

const ROUTE = { name: 'all', match: { methods: ['GET', 'POST', 'PUT'], path: '/pub/**' } }
const POLICY = { apiVersion: 'scopegate/v1', kind: 'Policy', name: 'soak', owner: 'soak', upstream: 'api' }

/**
 * Starts a gateway with one open route, as a process of its own from its own entry.
 * @throws {BenchError} ERR_BENCH_START when it does not come up.
 */
export async function startSoakGateway(options: SoakGatewayOptions): Promise<SoakGateway> {
  const { folder, upstream } = options
  const policies = join(folder, 'policies')
  mkdirSync(policies, { recursive: true })
  const routes = [{ ...ROUTE, ...options.route }, ...(options.moreRoutes ?? [])]
  writeFileSync(join(policies, 'soak.policy.yaml'), JSON.stringify({ ...POLICY, routes })) // JSON is YAML
  writeFileSync(join(folder, 'secret'), 'nobody is asked about tokens here', { mode: 0o600 })
  writeFileSync(
    join(folder, 'upstreams.yaml'),
    JSON.stringify({ api: { url: upstream, timeout: options.timeout ?? '10s' } }),
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
    ...options.settings,
  }
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config))
  const started = startProcess({
    name: 'gateway',
    command: [
      process.execPath,
      ...(options.nodeOptions ?? []),
      join(findPackageRoot(), 'gateway', 'main.ts'),
    ],
    cores: undefined,
    cleanup: options.cleanup,
    env: { SCOPEGATE_CONFIG_DIR: folder },
    ...(options.stdout === undefined ? {} : { stdout: options.stdout }),
  })
  const { url, managementUrl } = await whenReady(started)
  return { url: String(url), managementUrl: String(managementUrl), process: started }
}
