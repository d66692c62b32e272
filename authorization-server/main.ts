import { findConfigDir } from '../platform/config/config-dir.ts'
import { logConfigWarnings } from '../platform/config/read-config.ts'
import { createLogger } from '../platform/logging/logger.ts'
import { FORCED_EXIT_MS, onTermination, shutdownMode } from '../platform/process/drain.ts'
import { reportBootError } from '../platform/process/report-boot-error.ts'
import { handleUncaughtExceptions } from '../platform/process/uncaught-exceptions.ts'
import { startAuthorizationServer } from './app.ts'
import { readAuthorizationServerConfig } from './config.ts'
import { routeConsole } from './route-console.ts'

try {
  const { config, warnings } = readAuthorizationServerConfig({
    configDir: findConfigDir(process.env),
    env: process.env,
  })
  const logger = createLogger({ ...config.log, service: 'authorization-server' })
  handleUncaughtExceptions(logger)
  routeConsole(logger)
  logConfigWarnings(logger, warnings)
  const server = await startAuthorizationServer({ config, logger })
  onTermination((reason) => server.close(shutdownMode(reason)), {
    logger,
    graceMs: config.drain.graceMs + FORCED_EXIT_MS,
  })
  logger.info(
    { event: 'listening', url: server.url, management_url: server.managementUrl, issuer: config.issuer },
    'authorization server ready',
  )
  process.send?.({ ready: true, url: server.url, managementUrl: server.managementUrl })
} catch (error) {
  process.exitCode = reportBootError(error)
  process.disconnect?.()
}
