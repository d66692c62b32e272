import { setTimeout as wait } from 'node:timers/promises'
import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import type { AuditLog } from '../../../platform/logging/audit-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { SourceState } from '../../../policy-engine/load/load-policy-sources.ts'
import type { PolicySources } from '../../../policy-engine/load/policy-sources.ts'
import type { GatewayCheck } from '../../observability/readiness-check.ts'
import type { ReloadMeter } from '../../observability/reload-metrics.ts'
import { describeLocation } from './describe-location.ts'
import type { ApplyOutcome } from './policy-holder.ts'
import { RELOAD_FAILURES, type ReloadFailure } from './reload-failure.ts'
import {
  logReload,
  logReloadFailure,
  type ReloadReport,
  type ReloadTrigger,
  type WorkerReload,
} from './reload-report.ts'
import { checkSourceStates, logSourceChanges } from './source-report.ts'

export type PolicyReloaderOptions = {
  /** The active policies at the start of the process. */
  readonly active: {
    readonly sources: PolicySources
    readonly routes: number
    /** The state of each policy source. Default: no policy sources. */
    readonly states?: readonly SourceState[]
  }
  readonly read: () => Promise<PolicySources>
  /**
   * Activates policies in this process or in every worker. `startWithOne`: the policies have ended all workers before, so
   * one worker must check them before the other workers get them.
   */
  readonly apply: (
    sources: PolicySources,
    options: { readonly startWithOne: boolean },
  ) => Promise<AppliedEverywhere>
  /** Called with the states of the policy sources, at the start and after each reload. */
  readonly onStates?: (sources: PolicySources, states: readonly SourceState[]) => Promise<void>
  readonly meter: ReloadMeter
  readonly logger: Logger
  readonly audit: AuditLog
  /** Time to wait until a writer has finished, because a partly written file is often invalid. Milliseconds. */
  readonly settleMs?: number
  /** Minimum time before the watch tries policies again that ended all workers. Milliseconds. */
  readonly retryMs?: number | undefined
}

export type AppliedEverywhere = {
  readonly outcome: ApplyOutcome | UncheckedOutcome
  readonly workers?: readonly WorkerReload[]
}

type UncheckedOutcome = { readonly result: 'not_checked'; readonly failure: ReloadFailure }

/** Reloads policies, one reload at a time. */
export type PolicyReloader = {
  /**
   * Reads the files that are on the disk after this call. All calls during a running reload share the next reload.
   * Never rejects.
   */
  reload(trigger: ReloadTrigger): Promise<ReloadReport>
  /** The active policies. New workers start with these policies. */
  readonly active: PolicySources
  /** The state of each policy source. Empty without policy sources. */
  readonly states: readonly SourceState[]
  /** Why the policies on the disk are not active, since the first failed reload. Undefined: they are active. */
  readonly failure: PolicyFailure | undefined
  /** Checks for `/readyz?verbose`. The results have no effect on the readiness of the gateway. */
  checks(): readonly GatewayCheck[]
  /** Ends the wait of all callers of `reload()`. A running reload continues without a report. */
  close(): void
}

type PolicyFailure = {
  /** Empty if the gateway could not check the policies. */
  readonly problems: readonly Diagnostic[]
  readonly sinceMs: number
  /** Undefined: the policies are invalid. */
  readonly unchecked: ReloadFailure | undefined
}

const SETTLE_MS = 200
const RETRY_MS = 30_000
/**
 * Maximum number of reads while the files keep changing. After this number of reads, the reloader uses the last
 * version.
 */
const MAX_READS = 25

/**
 * Creates the reloader. The active policies stay until valid policies replace them. Logs the errors of invalid policies
 * only once.
 */
export function createPolicyReloader(options: PolicyReloaderOptions): PolicyReloader {
  const { read, meter, logger, settleMs = SETTLE_MS, retryMs = RETRY_MS } = options
  let { sources: active, routes, states = [] } = options.active
  let broken: { readonly hash: string; readonly problems: readonly Diagnostic[] } | undefined
  let unchecked: ReloadFailure | undefined
  /** The last policies that ended all workers. */
  let fatal: { readonly hash: string; readonly atMs: number } | undefined
  let failedSinceMs: number | undefined
  let running: Promise<ReloadReport> | undefined
  let endWait: () => void = () => undefined
  let next: Promise<ReloadReport> | undefined
  let nextTrigger: ReloadTrigger = 'watch'
  let closed = false
  /** Hash of the files that the last reload read. */
  let lastRead = active.hash

  /**
   * Reloads the policies. If files change during the reload, the gateway may have read some files before the change and
   * other files after the change. The function then reloads again.
   */
  async function runComplete(trigger: ReloadTrigger): Promise<ReloadReport> {
    const report = await run(trigger, trigger === 'watch')
    // The watch reads again after each change.
    if (trigger === 'watch' || report.result === 'not_checked') return report
    // A partly written file often makes its source invalid. The writer may need more time.
    if (report.sources.some(({ errors }) => errors.length > 0)) await wait(settleMs)
    if ((await read()).hash === lastRead) return report
    const again = await run(trigger, true)
    return again.result === 'unchanged' && report.result === 'applied' ? report : again
  }

  /** @param isAutomatic true: waits until writers have finished, and ignores files that the gateway has checked. */
  async function run(trigger: ReloadTrigger, isAutomatic: boolean): Promise<ReloadReport> {
    const startedMs = performance.now()
    const previous = active.hash
    let sources = isAutomatic ? await readSettled() : await read()
    if (trigger === 'watch' && mustPause(sources)) return uncheckedReport('workers_exited', { startedMs })
    const known = sources.hash === broken?.hash
    let applied: AppliedEverywhere
    if (isAutomatic && known) applied = { outcome: { result: 'broken', ...broken } as ApplyOutcome }
    else if (isAutomatic && sources.hash === previous) applied = { outcome: unchanged() }
    else applied = await apply(sources)
    if (applied.outcome.result === 'broken' && !isAutomatic && !known) {
      // Reads the files again before a report of errors, because the files may be partly written.
      const again = await readSettled()
      if (again.hash !== sources.hash) {
        sources = again
        applied = await apply(again)
      }
    }
    lastRead = sources.hash
    const { workers } = applied
    if (applied.outcome.result === 'not_checked') {
      if (applied.outcome.failure === 'workers_exited')
        fatal = { hash: sources.hash, atMs: performance.now() }
      return fail(applied.outcome.failure, { trigger, startedMs, workers, uncheckedHash: sources.hash })
    }
    // New workers of a rolling restart may have read the new policies already. The outcome is then `unchanged`,
    // although the active policies have changed.
    const outcome =
      applied.outcome.result === 'unchanged' && sources.hash !== previous
        ? { ...applied.outcome, result: 'applied' as const }
        : applied.outcome
    const restored = failedSinceMs !== undefined
    unchecked = undefined
    if (outcome.result === 'broken') {
      if (!known) meter.reloaded('failure')
      failedSinceMs ??= Date.now()
      broken = outcome
    } else {
      if (outcome.result === 'applied') meter.reloaded('success')
      else if (restored) meter.restored()
      broken = undefined
      failedSinceMs = undefined
      active = sources
      routes = outcome.routes
      logSourceChanges(logger, states, outcome.sources)
      states = outcome.sources
      await options.onStates?.(sources, states)
    }
    const report: ReloadReport = {
      result: outcome.result,
      failure: undefined,
      hash: active.hash,
      previousHash: outcome.result === 'applied' ? previous : undefined,
      routes,
      durationMs: Math.round(performance.now() - startedMs),
      diagnostics:
        outcome.result === 'broken'
          ? outcome.problems
          : [...outcome.sources.flatMap(({ errors }) => errors), ...outcome.warnings],
      sources: states,
      workers,
    }
    logReload(options, report, { trigger, known, restored, invalidHash: outcome.hash })
    return report
  }

  /**
   * Reads until two consecutive reads return the same content, because writers have then finished. Returns earlier if
   * the content is active or known to be invalid, and after `MAX_READS` reads.
   */
  async function readSettled(): Promise<PolicySources> {
    let sources = await read()
    for (let reads = 0; reads < MAX_READS; reads++) {
      if (sources.hash === active.hash || sources.hash === broken?.hash) return sources
      await wait(settleMs)
      const again = await read()
      if (again.hash === sources.hash) return again
      sources = again
    }
    return sources
  }

  function unchanged(): ApplyOutcome {
    return { result: 'unchanged', hash: active.hash, routes, warnings: [], sources: states }
  }

  /** Keeps the reloader working after an exception. */
  async function runSafely(trigger: ReloadTrigger): Promise<ReloadReport> {
    const startedMs = performance.now()
    try {
      return await runComplete(trigger)
    } catch (error) {
      return fail('internal_error', { trigger, startedMs, error })
    }
  }

  function apply(sources: PolicySources): Promise<AppliedEverywhere> {
    return options.apply(sources, { startWithOne: sources.hash === fatal?.hash })
  }

  /** Returns whether it is too early to try policies again that have ended all workers. */
  function mustPause({ hash }: PolicySources): boolean {
    if (unchecked === undefined || fatal?.hash !== hash) return false
    return performance.now() < fatal.atMs + retryMs
  }

  function uncheckedReport(
    failure: ReloadFailure,
    details: { readonly startedMs: number; readonly workers?: readonly WorkerReload[] | undefined },
  ): ReloadReport {
    return {
      result: 'not_checked',
      failure,
      hash: active.hash,
      previousHash: undefined,
      routes,
      durationMs: Math.round(performance.now() - details.startedMs),
      diagnostics: [],
      sources: states,
      workers: details.workers,
    }
  }

  function fail(
    failure: ReloadFailure,
    details: Parameters<typeof uncheckedReport>[1] & {
      readonly trigger: ReloadTrigger
      readonly uncheckedHash?: string
      readonly error?: unknown
    },
  ): ReloadReport {
    const report = uncheckedReport(failure, details)
    if (closed && failure !== 'stopping') return report
    logReloadFailure(logger, report, { ...details, failure })
    if (failure === 'stopping' || details.uncheckedHash === active.hash) return report
    meter.reloaded('failure')
    failedSinceMs ??= Date.now()
    broken = undefined
    unchecked = failure
    return report
  }

  function start(trigger: ReloadTrigger): Promise<ReloadReport> {
    const startedMs = performance.now()
    const stop = () => fail('stopping', { trigger, startedMs })
    if (closed) return Promise.resolve(stop())
    const { promise, resolve } = Promise.withResolvers<ReloadReport>()
    running = promise
    endWait = () => resolve(stop())
    void runSafely(trigger).then((report) => {
      running = undefined
      resolve(report)
    })
    return promise
  }

  logSourceChanges(logger, [], states)
  void options.onStates?.(active, states)
  return {
    reload(trigger) {
      if (running === undefined || closed) return start(trigger)
      // A caller that waits for the result has precedence over the watch, which reports only changes.
      if (next === undefined || nextTrigger === 'watch') nextTrigger = trigger
      next ??= running.then(() => {
        next = undefined
        return start(nextTrigger)
      })
      return next
    },
    get active() {
      return active
    },
    get states() {
      return states
    },
    get failure() {
      if (failedSinceMs === undefined) return undefined
      return { problems: broken?.problems ?? [], sinceMs: failedSinceMs, unchecked }
    },
    checks: () => [check(), ...checkSourceStates(states)],
    close() {
      closed = true
      if (running !== undefined) endWait()
    },
  }

  function check(): GatewayCheck {
    const detail = `${routes} routes, ${active.hash.slice(0, 12)}`
    const problem = describeProblem()
    if (problem === undefined) return { kind: 'policies', name: 'policies', ok: true, detail }
    return {
      kind: 'policies',
      name: 'policies',
      ok: true,
      degraded: true,
      detail: `${detail} stay active; ${problem}`,
    }
  }

  function describeProblem(): string | undefined {
    if (unchecked !== undefined) return `the last reload failed: ${RELOAD_FAILURES[unchecked].cause}`
    const [first] = broken?.problems.filter(({ severity }) => severity === 'error') ?? []
    return first && `${describeLocation(first.location)}: error[${first.code}]: ${first.message}`
  }
}
