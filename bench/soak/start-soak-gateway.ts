import { join } from 'node:path'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import type { Cleanup } from '../cleanup.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'
import { type SoakConfig, writeSoakConfig } from './write-soak-config.ts'

/** A gateway in a separate process. */
export type SoakGateway = {
  readonly url: string
  readonly managementUrl: string
  readonly process: BenchProcess
}

/** Differences from the default gateway of a soak test. */
export type SoakGatewayOptions = SoakConfig & {
  readonly cleanup: Cleanup
  /** Node.js options such as `--max-old-space-size=256`. */
  readonly nodeOptions?: readonly string[]
  /** A file descriptor for the log of the gateway. Default: the log is dropped. */
  readonly stdout?: number
}

/**
 * Starts a gateway in a separate process. Its only route accepts requests without a token.
 * @throws {BenchError} ERR_BENCH_START when the gateway does not start.
 */
export async function startSoakGateway(options: SoakGatewayOptions): Promise<SoakGateway> {
  const { folder } = options
  writeSoakConfig(options)
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
