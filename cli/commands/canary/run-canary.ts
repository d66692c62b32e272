import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import type { ParsedArguments } from '../../command.ts'
import { formatTable } from '../../format-table.ts'
import type { Terminal } from '../../terminal.ts'
import { type CanarySettings, readServiceSettings, readSettings } from './canary-settings.ts'
import { findFailure, type GatewayResult, measureRevocation } from './measure-revocation.ts'

/** Runs the canary once with `--once`, else as a service. @returns the exit code, or undefined for the service. */
export async function runCanary(given: ParsedArguments, terminal: Terminal): Promise<number | undefined> {
  const settings = readSettings(given, terminal)
  if (given.has('once')) return runOnce(settings, terminal)
  const service = readServiceSettings(given)
  const { startCanaryService } = await import('./canary-service.ts')
  await startCanaryService(settings, service)
  return undefined
}

/** Prints the result of each gateway. */
async function runOnce(settings: CanarySettings, terminal: Terminal): Promise<number> {
  const results = await untilSignal((stop) => measureRevocation(settings, stop))
  terminal.out.write(
    formatTable([
      ['GATEWAY', 'SECONDS', 'RESULT'],
      ...results.map((result) => [
        result.gateway,
        result.seconds?.toFixed(3) ?? '-',
        describeResult(result, settings),
      ]),
    ]),
  )
  const failure = findFailure(results, settings.deadlineMs)
  if (failure !== undefined) throw failure
  return 0
}

function describeResult({ status }: GatewayResult, { validStatus }: CanarySettings): string {
  if (status === undefined) return 'does not respond'
  if (status === 401) return 'rejects the revoked token'
  return status === validStatus ? 'accepts the revoked token' : `responds with ${status}`
}

/** Calls `run` with a signal that aborts when the process receives SIGTERM or SIGINT. */
async function untilSignal<T>(run: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const abort = () =>
    controller.abort(new BootError('ERR_CANARY', 'scopegate canary: a signal stopped the run.'))
  process.on('SIGTERM', abort).on('SIGINT', abort)
  try {
    return await run(controller.signal)
  } finally {
    process.off('SIGTERM', abort).off('SIGINT', abort)
  }
}
