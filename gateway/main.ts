import cluster from 'node:cluster'
import { allocateYoung } from '../runtime/allocate-young.ts'
import { findConfigDir } from '../runtime/config-dir.ts'
import { LAST_RESORT_MS, onTermination, shutdownMode } from '../runtime/drain.ts'
import { logConfigWarnings } from '../runtime/log-config-warnings.ts'
import { createLogger } from '../runtime/logger.ts'
import { lowerHelperPriority } from '../runtime/lower-helper-priority.ts'
import { reportBootError } from '../runtime/report-boot-error.ts'
import { surviveExceptions } from '../runtime/survive-exceptions.ts'
import { type Gateway, startGateway } from './app.ts'
import { readGatewayConfig } from './config/read-gateway-config.ts'
import { runWorker } from './workers/run-worker.ts'
import { supervise } from './workers/supervise.ts'

allocateYoung()
lowerHelperPriority()
try {
  const { config, warnings } = readGatewayConfig({ configDir: findConfigDir(process.env), env: process.env })
  const logger = createLogger({ level: config.log.level, service: 'gateway' })
  const options = { config, logger }

  if (cluster.isWorker) surviveExceptions(logger, await runWorker(options))
  else {
    logConfigWarnings(logger, warnings)
    if (config.workers === 1) {
      run(await startGateway(options))
      process.on('SIGUSR2', () =>
        logger.warn({ event: 'no_workers' }, 'there is one process only (workers: 1): nothing to replace'),
      )
    } else {
      const gateway = await supervise(options)
      if ('url' in gateway) {
        run(gateway)
        process.on('SIGUSR2', () => void gateway.roll())
      } else {
        process.exitCode = gateway.code ?? 1
        process.disconnect?.()
      }
    }
  }

  function run(gateway: Gateway): void {
    surviveExceptions(logger)
    onTermination(
      (reason) => gateway.close({ how: shutdownMode(reason) === 'graceful' ? 'accepting' : 'now' }),
      {
        logger,
        graceMs: config.drain.graceMs + LAST_RESORT_MS,
      },
    )
    process.on('SIGHUP', () => void gateway.reload('signal'))
    process.send?.({ ready: true, url: gateway.url, managementUrl: gateway.managementUrl })
  }
} catch (error) {
  process.exitCode = reportBootError(error)
  if (process.connected) process.disconnect()
}
