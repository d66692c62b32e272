import { join } from 'node:path'
import { onTermination } from '../runtime/drain.ts'
import { formatDiagnostics } from '../runtime/format-diagnostics.ts'
import { createLogger } from '../runtime/logger.ts'
import { findPackageRoot } from '../runtime/package-root.ts'
import { reportBootError } from '../runtime/report-boot-error.ts'
import { startAuthorizationServer } from './app.ts'
import { readAuthorizationServerConfig } from './config.ts'
import { routeConsole } from './route-console.ts'

const GRACE_MS = 25_000 // below the 30 s that Kubernetes waits

try {
  const { config, warnings } = readAuthorizationServerConfig({
    configDir: process.env['SCOPEGATE_CONFIG_DIR'] ?? join(findPackageRoot(), 'config'),
    env: process.env,
  })
  const logger = createLogger({ level: config.log.level, service: 'authorization-server' })
  routeConsole(logger)
  if (warnings.length > 0) logger.warn({ event: 'config_warnings' }, formatDiagnostics(warnings))
  const server = await startAuthorizationServer({ config, logger })
  onTermination(() => server.close(), { logger, graceMs: GRACE_MS })
  logger.info(
    { event: 'listening', url: server.url, management_url: server.managementUrl, issuer: config.issuer },
    'authorization server ready',
  )
  process.send?.({ ready: true, url: server.url, managementUrl: server.managementUrl })
} catch (error) {
  process.exitCode = reportBootError(error)
  process.disconnect?.()
}
