import { join } from 'node:path'
import { onTermination } from '../runtime/drain.ts'
import { createLogger } from '../runtime/logger.ts'
import { findPackageRoot } from '../runtime/package-root.ts'
import { reportBootError } from '../runtime/report-boot-error.ts'
import { startGateway } from './app.ts'
import { readGatewayConfig } from './config.ts'

/** Requests that are under way get this long when the process no longer takes any. Milliseconds. */
const GRACE_MS = 25_000

try {
  const configDir = process.env['SCOPEGATE_CONFIG_DIR'] ?? join(findPackageRoot(), 'config')
  const { config, warnings } = readGatewayConfig({ configDir, env: process.env })
  const logger = createLogger({ level: config.log.level, service: 'gateway' })
  for (const warning of warnings)
    logger.warn({ event: 'config_warning', diagnostic: warning.code, place: warning.place }, warning.message)
  const gateway = await startGateway({ config, logger })
  onTermination(gateway.close, { logger, graceMs: config.drainDelayMs + GRACE_MS })
  process.send?.({ ready: true, url: gateway.url, managementUrl: gateway.managementUrl })
} catch (error) {
  process.exitCode = reportBootError(error)
  process.disconnect?.()
}
