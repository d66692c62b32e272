import { metricsOf } from '../../platform/ops/metrics-format.ts'
import { describePolicies } from '../admin/describe-policies.ts'
import { createSampler } from '../console/sample.ts'
import type { ConsoleQuery, ConsoleReply } from '../console/worker-console.ts'
import type { GatewayOptions } from '../gateway-options.ts'
import { createGatewayRuntime } from '../gateway-runtime.ts'
import type { ShutdownOptions } from '../server/shutdown.ts'
import type { ApplyOutcome } from '../snapshot/reload/policy-holder.ts'
import type { SupervisorMessage, WorkerMessage } from './worker-messages.ts'

/**
 * Runs this process as a worker until the supervisor stops the worker. After a SIGTERM to the worker alone, the worker
 * first requests a successor. The worker ignores SIGINT and SIGHUP, because a terminal sends these signals to all
 * processes, and the supervisor handles the signals. Without a supervisor the process exits immediately, because
 * node:cluster delivers no more connections.
 * @returns a function that requests a successor.
 * @throws {BootError} for invalid policies, or an address that is not available.
 */
export async function runWorker(options: GatewayOptions): Promise<(reason: string) => void> {
  // The supervisor can stop a worker that does not serve requests yet.
  const stopRequested = awaitMessage('stop')
  const initial = await awaitMessage('begin')
  const serving = await createGatewayRuntime({ ...options, ...initial })
  const { config, logger } = options
  const takeSample = createSampler(serving.registry)

  async function stop(how: ShutdownOptions['how']): Promise<void> {
    await serving.close({ how, pollListener })
    // Connections in transit to this process go back to the supervisor, which hands the connections to another worker.
    const leave = awaitMessage('leave')
    sendMessage({ kind: 'leaving' })
    await leave
    // Sends the counts of the last requests before the process exits.
    const finalMetrics: WorkerMessage = { kind: 'final_metrics', metrics: await metricsOf(serving.registry) }
    process.send?.(finalMetrics, () => process.exit(0))
  }

  /** A defect of the console must not end the worker. */
  async function replyToConsole(query: ConsoleQuery): Promise<ConsoleReply> {
    try {
      return (await serving.console?.reply(query)) ?? {}
    } catch (error) {
      logger.error({ event: 'console_error', err: error }, 'a page of the console failed')
      return {}
    }
  }

  process.on('message', async (message: SupervisorMessage) => {
    if (message.kind === 'apply') {
      let outcome: ApplyOutcome | undefined
      try {
        outcome = await serving.policies.apply(message.sources)
      } finally {
        // After an exception, the supervisor also replaces this worker.
        sendMessage({ kind: 'applied', requestId: message.requestId, outcome })
      }
    }
    if (message.kind === 'describe') {
      const policies = describePolicies(serving.policies.active(), config)
      sendMessage({ kind: 'described', requestId: message.requestId, policies })
    }
    if (message.kind === 'set_log_level') {
      logger.level = message.level ?? config.log.level
      sendMessage({ kind: 'log_level_set', requestId: message.requestId })
    }
    if (message.kind === 'request_checks')
      sendMessage({ kind: 'checks', requestId: message.requestId, checks: serving.checks() })
    if (message.kind === 'request_sample')
      sendMessage({ kind: 'sample', requestId: message.requestId, sample: await takeSample() })
    if (message.kind === 'watch_decisions') serving.console?.watch(message.isWatched)
    if (message.kind === 'ask_console')
      sendMessage({
        kind: 'console_replied',
        requestId: message.requestId,
        reply: await replyToConsole(message.query),
      })
    if (message.kind === 'request_metrics')
      sendMessage({
        kind: 'metrics',
        requestId: message.requestId,
        metrics: await metricsOf(serving.registry),
      })
  })
  process.on('SIGINT', () => undefined)
  process.on('SIGHUP', () => undefined)
  process.on('SIGTERM', () => sendMessage({ kind: 'replace', reason: 'SIGTERM' }))
  const { hash, routes, sources: states } = serving.policies.active()
  const { policiesDir, policySources, scopesFile, presetsFile, policyReload } = config
  const locations = { policiesDir, policySources, scopesFile, presetsFile, policyReload }
  sendMessage({
    kind: 'ready',
    url: serving.url,
    policies: { hash, routes: routes.length, states, locations },
  })
  void stopRequested.then(({ how }) => stop(how))
  return (reason) => sendMessage({ kind: 'replace', reason })
}

let polls = Promise.resolve()

/**
 * See `FinishOptions` of a graceful close. The supervisor has the listener. Concurrent polls run one after the other, so
 * that each poll gets its own reply.
 */
function pollListener(): Promise<void> {
  polls = polls.then(async () => {
    const polled = awaitMessage('listener_polled')
    sendMessage({ kind: 'poll_listener' })
    await polled
  })
  return polls
}

function awaitMessage<K extends SupervisorMessage['kind']>(
  kind: K,
): Promise<Extract<SupervisorMessage, { readonly kind: K }>> {
  return new Promise((resolve) => {
    const listen = (message: SupervisorMessage): void => {
      if (message.kind !== kind) return
      process.off('message', listen)
      resolve(message as Extract<SupervisorMessage, { readonly kind: K }>)
    }
    process.on('message', listen)
  })
}

function sendMessage(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}
