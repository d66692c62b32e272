import { type OpenedAuditLog, openAuditLog } from '../platform/logging/audit-log.ts'
import { createLogLevelControl } from '../platform/logging/log-level.ts'
import { logLevelEndpoints } from '../platform/ops/log-level-endpoints.ts'
import { metricsOf } from '../platform/ops/metrics-format.ts'
import { startOpsServer } from '../platform/ops/ops-server.ts'
import { readPackageVersion } from '../platform/process/package-version.ts'
import { describePolicies } from './admin/describe-policies.ts'
import { policyEndpoints } from './admin/policy-endpoints.ts'
import { createDecisionSource } from './console/decision-source.ts'
import { openConsole } from './console/open-console.ts'
import { createSampler } from './console/sample.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { createGatewayRuntime, type GatewayRuntime } from './gateway-runtime.ts'
import { createReloadMeter } from './observability/reload-metrics.ts'
import type { ShutdownOptions } from './server/shutdown.ts'
import { createPolicyReloader, type PolicyReloader } from './snapshot/reload/policy-reloader.ts'
import { readPolicySources } from './snapshot/reload/read-policy-sources.ts'
import type { ReloadReport, ReloadTrigger } from './snapshot/reload/reload-report.ts'
import { openSourceVersions } from './snapshot/reload/source-versions.ts'
import { startReloading } from './snapshot/reload/watch-folders.ts'

export type Gateway = {
  readonly url: string
  readonly managementUrl: string
  /** Reloads the policies. Invalid policies change nothing. Never rejects. */
  reload(trigger: ReloadTrigger): Promise<ReloadReport>
  /**
   * Shuts down, by default gracefully. The readiness check fails first. After the drain delay, the gateway accepts no
   * new connections. The requests in flight finish within the grace period, and then the gateway closes all resources.
   */
  close(options?: ShutdownOptions): Promise<void>
}

/** A gateway without a management port. */
export type OpenGateway = {
  readonly serving: GatewayRuntime
  readonly reloader: PolicyReloader
  readonly auditLog: OpenedAuditLog
  stopReloading(): void
}

/**
 * Opens the audit log, the policies and the runtime of a gateway. Reloads changed policies.
 * @throws {BootError} for invalid policies, or an address that is not available.
 */
export async function openGateway(options: GatewayOptions): Promise<OpenGateway> {
  const { config, logger } = options
  const auditLog = await openAuditLog({ log: config.log, service: 'gateway', logger })
  const versions = openSourceVersions({ dataDir: config.dataDir, logger })
  const read = async () => versions.attach(await readPolicySources(config))
  const policies = options.policies ?? (await read())
  const serving = await createGatewayRuntime({ ...options, policies })
  auditLog.register(serving.registry)
  const { routes, sources } = serving.policies.active()
  const reloader = createPolicyReloader({
    active: { sources: policies, routes: routes.length, states: sources },
    read,
    apply: async (sources) => ({ outcome: await serving.policies.apply(sources) }),
    onStates: versions.keep,
    meter: createReloadMeter(serving.registry),
    logger,
    audit: auditLog.audit,
  })
  const stopWatch = startReloading(reloader.reload, { ...config, logger })
  return {
    serving,
    reloader,
    auditLog,
    stopReloading() {
      stopWatch()
      reloader.close()
    },
  }
}

/**
 * Starts the gateway in this process: public server and management server.
 * @throws {BootError} for invalid policies, or an address that is not available.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, logger } = options
  const { serving, reloader, auditLog, stopReloading } = await openGateway(options)
  const logLevel = createLogLevelControl({ configured: config.log.level, logger, audit: auditLog.audit })
  const version = readPackageVersion()
  const checks = () => [...reloader.checks(), ...serving.checks()]
  const describe = async () => describePolicies(serving.policies.active(), config)
  const takeSample = createSampler(serving.registry)
  const console = openConsole({
    config,
    version,
    logger,
    sample: async () => [await takeSample()],
    checks: async () => checks(),
    describe,
    policies: reloader,
    decisions: createDecisionSource({
      ask: async (query) => [await serving.console?.reply(query)],
      watch: (isWatched) => serving.console?.watch(isWatched),
    }),
  })
  try {
    const ops = await startOpsServer({
      ...config.management,
      service: 'gateway',
      version,
      metrics: () => metricsOf(serving.registry),
      checks,
      endpoints: [
        ...policyEndpoints({ reload: reloader.reload, describe }),
        ...logLevelEndpoints(logLevel),
        ...(console?.endpoints ?? []),
      ],
      notFound: console?.notFound,
      logger,
    })
    logger.info({ event: 'listening', url: serving.url, management_url: ops.url }, 'the gateway listens')
    return {
      url: serving.url,
      managementUrl: ops.url,
      reload: reloader.reload,
      async close(how) {
        stopReloading()
        logLevel.close()
        console?.close()
        await serving.close(how)
        await ops.close()
        await auditLog.close()
      },
    }
  } catch (error) {
    stopReloading()
    console?.close()
    await serving.close({ how: 'immediate' })
    await auditLog.close()
    throw error
  }
}
