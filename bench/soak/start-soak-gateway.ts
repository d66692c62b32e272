import { join } from 'node:path'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import type { Cleanup } from '../cleanup.ts'
import { type BenchProcess, startProcess, whenReady } from '../start-process.ts'
import { type SoakConfig, writeSoakConfig } from './write-soak-config.ts'

/** A gateway in a process of its own. */
export type SoakGateway = {
  readonly url: string
  readonly managementUrl: string
  readonly process: BenchProcess
}

/** How a gateway differs from the plain one of a soak test. */
export type SoakGatewayOptions = SoakConfig & {
  readonly cleanup: Cleanup
  /** Node.js options such as `--max-old-space-size=256`. */
  readonly nodeOptions?: readonly string[]
  /** A file descriptor for its log; dropped when not given. */
  readonly stdout?: number
}

/**
 * Starts a gateway with one open route, as a process of its own from its own entry.
 * @throws {BenchError} ERR_BENCH_START when it does not come up.
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
