import { randomBytes } from 'node:crypto'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import type { Cores } from '../choose-cores.ts'
import type { Cleanup } from '../cleanup.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'

/** A gateway with its normal configuration. */
export type StartedGateway = {
  /** The address of this gateway. Tokens contain the `baseUrl` of the product. */
  readonly url: string
  readonly managementUrl: string
  readonly gateway: BenchProcess
  /** The standard output of the gateway is its access log. */
  readonly logFile: string
}

/** A gateway, and the bundled authorization server behind the gateway. */
export type Product = StartedGateway & {
  readonly baseUrl: string
  /** The address of the authorization server. */
  readonly issuer: string
  /**
   * Starts another authorization server with the same data.
   * @returns its address.
   */
  startIssuer(settings: Readonly<Record<string, string>>): Promise<string>
  /** Starts another gateway, which accepts the same tokens. */
  startGateway(options: GatewayOptions): Promise<StartedGateway>
}

type GatewayOptions = {
  /** For the access log of the gateway. */
  readonly folder: string
  readonly cleanup: Cleanup
  /** The checkout of another revision, whose gateway starts instead of the gateway of this checkout. */
  readonly checkout?: string | undefined
  /** Additional settings of the gateway. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/** Without `cores`, the operating system selects the processors. */
export type ProductOptions = {
  readonly cores: Cores | undefined
  readonly folder: string
  readonly cleanup: Cleanup
  /** Every policy uses this upstream. */
  readonly upstream: string
  /** The checkout of another revision. The first gateway is the gateway of that revision. */
  readonly checkout?: string | undefined
  /** For example `--cpu-prof`. */
  readonly nodeOptions?: readonly string[]
  /** Additional settings of the gateway. A function gets the address of the authorization server. */
  readonly settings?:
    | Readonly<Record<string, string>>
    | ((issuer: string) => Readonly<Record<string, string>>)
  /** Additional settings of the authorization server. */
  readonly issuerSettings?: Readonly<Record<string, string>>
}

/**
 * Starts the authorization server and the gateway as separate processes with the configuration and the policies of the
 * checkout. Environment variables set the addresses, the data folder, the client secret, the drain delay and the
 * settings in `options`. Only the gateway runs on the processor of the server under test.
 * @throws {BenchError} ERR_BENCH_START if a process does not start.
 */
export async function startProduct(options: ProductOptions): Promise<Product> {
  const port = await findFreePort('127.0.0.1')
  const baseUrl = `http://127.0.0.1:${port}`
  const dataDir = join(options.folder, 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  const secretFile = join(dataDir, 'gateway-client-secret')
  writeFileSync(secretFile, randomBytes(32).toString('base64url'), { mode: 0o600 })

  const startAnother = (settings: Readonly<Record<string, string>>) =>
    startIssuer(options, { baseUrl, dataDir, secretFile, settings })
  const issuer = await startAnother(options.issuerSettings ?? {})
  const startGateway = async (own: GatewayOptions, ownPort: number): Promise<StartedGateway> => {
    const logFile = join(own.folder, 'access.log')
    const gateway = startProcess({
      name: 'gateway',
      command: [
        process.execPath,
        ...(options.nodeOptions ?? []),
        own.checkout === undefined ? entry('gateway/main.ts') : join(own.checkout, 'gateway/main.ts'),
      ],
      cores: options.cores?.server,
      cleanup: own.cleanup,
      stdout: openSync(logFile, 'a'),
      env: {
        PORT: String(ownPort),
        SCOPEGATE_BASE_URL: baseUrl,
        SCOPEGATE_MANAGEMENT__PORT: '0',
        SCOPEGATE_DRAIN__DELAY: '0s', // a drain delay is only useful with a load balancer
        SCOPEGATE_ISSUERS__0__ISSUER: baseUrl,
        SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: `${issuer}${ENDPOINTS.introspection}`,
        SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: secretFile,
        SCOPEGATE_ISSUERS__0__REVOCATIONS: `${issuer}${REVOCATION_STREAM_PATH}`,
        SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: options.upstream,
        SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__URL: issuer,
        ...own.settings,
      },
    })
    const { managementUrl } = await whenReady(gateway)
    return { url: `http://127.0.0.1:${ownPort}`, managementUrl: String(managementUrl), gateway, logFile }
  }
  const { settings } = options
  return {
    ...(await startGateway(
      { ...options, settings: typeof settings === 'function' ? settings(issuer) : settings },
      port,
    )),
    baseUrl,
    issuer,
    startIssuer: startAnother,
    startGateway: async (own) => startGateway(own, await findFreePort('127.0.0.1')),
  }
}

/** @returns the address of the authorization server. */
async function startIssuer(
  { cores, cleanup }: ProductOptions,
  own: {
    readonly baseUrl: string
    readonly dataDir: string
    readonly secretFile: string
    readonly settings: Readonly<Record<string, string>>
  },
): Promise<string> {
  const started = startProcess({
    name: 'authorization server',
    command: [process.execPath, entry('authorization-server/main.ts')],
    cores: cores?.others,
    cleanup,
    env: {
      PORT: '0',
      SCOPEGATE_ISSUER: own.baseUrl,
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DATA_DIR: own.dataDir,
      SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: own.secretFile,
      SCOPEGATE_DEVELOPMENT: 'true',
      ...own.settings,
    },
  })
  const { url } = await whenReady(started)
  return String(url)
}

function entry(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url))
}
