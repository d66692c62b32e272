import cluster from 'node:cluster'
import { findConfigDir } from '../platform/config/config-dir.ts'
import { logConfigWarnings } from '../platform/config/read-config.ts'
import { createLogger } from '../platform/logging/logger.ts'
import { disablePretenuring } from '../platform/process/disable-pretenuring.ts'
import { FORCED_EXIT_MS, onTermination, shutdownMode } from '../platform/process/drain.ts'
import { lowerHelperPriority } from '../platform/process/lower-helper-priority.ts'
import { reportBootError } from '../platform/process/report-boot-error.ts'
import { handleUncaughtExceptions } from '../platform/process/uncaught-exceptions.ts'
import { type Gateway, startGateway } from './app.ts'
import { runWorker } from './cluster/run-worker.ts'
import { supervise } from './cluster/supervise.ts'
import { readGatewayConfig } from './config/read-gateway-config.ts'

disablePretenuring()
lowerHelperPriority()
try {
  const { config, warnings } = readGatewayConfig({ configDir: findConfigDir(process.env), env: process.env })
  const logger = createLogger({ ...config.log, service: 'gateway' })
  const options = { config, logger }

  if (cluster.isWorker) handleUncaughtExceptions(logger, await runWorker(options))
  else {
    logConfigWarnings(logger, warnings)
    if (config.workers === 1) {
      const noWorkers = () => logger.warn({ event: 'no_workers' }, 'workers is 1: nothing to replace')
      run(await startGateway(options), noWorkers)
    } else {
      const gateway = await supervise(options)
      if ('url' in gateway) {
        run(gateway, () => void gateway.roll())
      } else {
        process.exitCode = gateway.code ?? 1
        process.disconnect?.()
      }
    }
  }

  /**
   * Handles all signals before the process reports that the gateway is ready. An unhandled signal would end the
   * process.
   */
  function run(gateway: Gateway, replaceWorkers: () => void): void {
    handleUncaughtExceptions(logger)
    onTermination((reason) => gateway.close({ how: shutdownMode(reason) }), {
      logger,
      graceMs: config.drain.graceMs + FORCED_EXIT_MS,
    })
    process.on('SIGHUP', () => void gateway.reload('signal'))
    process.on('SIGUSR2', replaceWorkers)
    process.send?.({ ready: true, url: gateway.url, managementUrl: gateway.managementUrl })
  }
} catch (error) {
  process.exitCode = reportBootError(error)
  if (process.connected) process.disconnect()
}
