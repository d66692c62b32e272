import { join } from 'node:path'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import type { Cleanup } from '../cleanup.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'
import { type SoakConfig, writeSoakConfig } from './write-soak-config.ts'

export type SoakGateway = {
  readonly url: string
  readonly managementUrl: string
  readonly process: BenchProcess
}

/** Differences from the default gateway of a soak test. */
export type SoakGatewayOptions = SoakConfig & {
  readonly cleanup: Cleanup
  /** For example `--max-old-space-size=256`. */
  readonly nodeOptions?: readonly string[]
  /** A file descriptor for the log of the gateway. Without the descriptor, the system drops the log. */
  readonly stdout?: number
}

/**
 * Starts a gateway in a separate process. By default, its only route accepts requests without a token.
 * @throws {BenchError} ERR_BENCH_START if the gateway does not start.
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
