import { describePolicies } from '../admin/describe-policies.ts'
import type { GatewayOptions } from '../gateway-options.ts'
import { createGatewayRuntime } from '../gateway-runtime.ts'
import type { ShutdownOptions } from '../server/shutdown.ts'
import { metricsOf } from './add-metrics.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

/**
 * Serves as one of several workers until the supervisor says to stop. SIGTERM sent to a worker alone makes it ask for a
 * successor first; Ctrl-C and a hang-up, which a terminal sends to all, are the supervisor's business. When the supervisor is gone the
 * process ends at once, for it no longer gets connections (node:cluster).
 * @returns asks for a successor.
 * @throws {BootError} as `serve` does.
 */
export async function runWorker(options: GatewayOptions): Promise<(reason: string) => void> {
  const beginning = await told('begin')
  const serving = await createGatewayRuntime({ ...options, ...beginning })
  const { config } = options
  let stopping = false

  async function stop(how: ShutdownOptions['how']): Promise<void> {
    if (stopping) return
    stopping = true
    await serving.close({ how })
    // A connection that was on its way to this process goes back to the supervisor, which gives it to another one.
    const leave = told('leave')
    tell({ kind: 'leaving' })
    await leave
    // The counts of the last requests get there before the end.
    const farewell: FromWorker = { kind: 'farewell', metrics: await metricsOf(serving.registry) }
    process.send?.(farewell, () => process.exit(0))
  }

  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'stop') await stop(message.how)
    if (message.kind === 'apply') {
      const outcome = await serving.policies.apply(message.sources)
      tell({ kind: 'applied', question: message.question, outcome })
    }
    if (message.kind === 'describe') {
      const policies = describePolicies(serving.policies.inForce(), config)
      tell({ kind: 'described', question: message.question, policies })
    }
    if (message.kind !== 'ask') return
    const state = { checks: serving.checks(), metrics: await metricsOf(serving.registry) }
    tell({ kind: 'state', question: message.question, state })
  })
  process.on('SIGINT', () => undefined)
  process.on('SIGHUP', () => undefined)
  process.on('SIGTERM', () => tell({ kind: 'replace', reason: 'SIGTERM' }))
  const { hash, routes } = serving.policies.inForce()
  const { policiesDir, scopesFile, presetsFile, policyReload } = config
  const places = { policiesDir, scopesFile, presetsFile, policyReload }
  tell({ kind: 'ready', url: serving.url, policies: { hash, routes: routes.length, places } })
  return (reason) => tell({ kind: 'replace', reason })
}

function told<K extends ToWorker['kind']>(kind: K): Promise<Extract<ToWorker, { readonly kind: K }>> {
  return new Promise((resolve) => {
    const listen = (message: ToWorker): void => {
      if (message.kind !== kind) return
      process.off('message', listen)
      resolve(message as Extract<ToWorker, { readonly kind: K }>)
    }
    process.on('message', listen)
  })
}

function tell(message: FromWorker): void {
  if (process.connected) process.send?.(message)
}
