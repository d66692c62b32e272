import { randomBytes } from 'node:crypto'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import type { Cores } from '../choose-cores.ts'
import type { Cleanup } from '../cleanup.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'

/** The gateway with its normal configuration, and the bundled authorization server behind the gateway. */
export type Product = {
  readonly baseUrl: string
  readonly managementUrl: string
  /** The address of the authorization server. */
  readonly issuer: string
  readonly gateway: BenchProcess
  /** The standard output of the gateway is its access log. */
  readonly logFile: string
  /**
   * Starts another authorization server with the same data.
   * @returns its address.
   */
  startIssuer(settings: Readonly<Record<string, string>>): Promise<string>
}

/** Without `cores`, the operating system selects the processors. */
export type ProductOptions = {
  readonly cores: Cores | undefined
  readonly folder: string
  readonly cleanup: Cleanup
  /** Every policy uses this upstream. */
  readonly upstream: string
  /** The checkout of another revision, whose gateway starts instead of the gateway of this checkout. */
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
  const logFile = join(options.folder, 'access.log')
  const gateway = startProcess({
    name: 'gateway',
    command: [
      process.execPath,
      ...(options.nodeOptions ?? []),
      options.checkout === undefined ? entry('gateway/main.ts') : join(options.checkout, 'gateway/main.ts'),
    ],
    cores: options.cores?.server,
    cleanup: options.cleanup,
    stdout: openSync(logFile, 'a'),
    env: {
      PORT: String(port),
      SCOPEGATE_BASE_URL: baseUrl,
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s', // a drain delay is only useful with a load balancer
      SCOPEGATE_ISSUERS__0__ISSUER: baseUrl,
      SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: `${issuer}${ENDPOINTS.introspection}`,
      SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: secretFile,
      SCOPEGATE_ISSUERS__0__REVOCATIONS: `${issuer}${REVOCATION_STREAM_PATH}`,
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: options.upstream,
      SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__URL: issuer,
      ...(typeof options.settings === 'function' ? options.settings(issuer) : options.settings),
    },
  })
  const { managementUrl } = await whenReady(gateway)
  return {
    baseUrl,
    managementUrl: String(managementUrl),
    issuer,
    gateway,
    logFile,
    startIssuer: startAnother,
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
