import { startOpsServer } from '../runtime/ops-server.ts'
import { readPackageVersion } from '../runtime/package-version.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { serve } from './serve.ts'
import type { StopOptions } from './stop-serving.ts'

/** A gateway that listens. */
export type Gateway = {
  readonly url: string
  readonly managementUrl: string
  /** Readiness turns first; requests are taken until that was noticed; what is under way is answered; then everything ends. */
  close(options?: StopOptions): Promise<void>
}

/**
 * Starts the gateway in this process: public server and management server.
 * @throws {BootError} for policies that are not valid, or an address that cannot be had.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, logger } = options
  const serving = await serve(options)
  try {
    const ops = await startOpsServer({
      ...config.management,
      service: 'gateway',
      version: readPackageVersion(),
      registry: serving.registry,
      checks: serving.checks,
      logger,
    })
    logger.info({ event: 'listening', url: serving.url, management_url: ops.url }, 'the gateway listens')
    return {
      url: serving.url,
      managementUrl: ops.url,
      async close(how) {
        await serving.close(how)
        await ops.close()
      },
    }
  } catch (error) {
    await serving.close({ how: 'now' })
    throw error
  }
}
