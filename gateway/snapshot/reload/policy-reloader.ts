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
import { logReload, type ReloadReport, type ReloadTrigger, type WorkerReload } from './reload-report.ts'
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
  /** Activates policies in this process or in every worker. */
  readonly apply: (sources: PolicySources) => Promise<AppliedEverywhere>
  /** Called with the states of the policy sources, at the start and after each reload. */
  readonly onStates?: (sources: PolicySources, states: readonly SourceState[]) => Promise<void>
  readonly meter: ReloadMeter
  readonly logger: Logger
  readonly audit: AuditLog
  /** Time to wait until a writer has finished, because a partly written file is often invalid. Milliseconds. */
  readonly settleMs?: number
}

export type AppliedEverywhere = {
  readonly outcome: ApplyOutcome
  readonly workers?: readonly WorkerReload[]
}

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
  /** The errors of the policies on the disk since the first failed reload. Undefined: these policies are active. */
  readonly failure: { readonly problems: readonly Diagnostic[]; readonly sinceMs: number } | undefined
  /** Checks for `/readyz?verbose`. The results have no effect on the readiness of the gateway. */
  checks(): readonly GatewayCheck[]
}

const SETTLE_MS = 200
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
  const { read, apply, meter, logger, settleMs = SETTLE_MS } = options
  let { sources: active, routes, states = [] } = options.active
  let broken: { readonly hash: string; readonly problems: readonly Diagnostic[] } | undefined
  let brokenSinceMs = 0
  let running: Promise<ReloadReport> | undefined
  let next: Promise<ReloadReport> | undefined
  /** Hash of the files that the last reload read. */
  let lastRead = active.hash

  /**
   * Reloads the policies. If files change during the reload, the gateway may have read some files before the change and
   * other files after the change. The function then reloads again.
   */
  async function runComplete(trigger: ReloadTrigger): Promise<ReloadReport> {
    const report = await run(trigger, trigger === 'watch')
    // The watch reads again after each change.
    if (trigger === 'watch') return report
    // A partly written file often makes its source invalid. The writer may need more time.
    if (report.sources.some(({ errors }) => errors.length > 0)) await wait(settleMs)
    if ((await read()).hash === lastRead) return report
    const again = await run(trigger, true)
    return again.result === 'unchanged' ? report : again
  }

  /** @param isAutomatic true: waits until writers have finished, and ignores files that the gateway has checked. */
  async function run(trigger: ReloadTrigger, isAutomatic: boolean): Promise<ReloadReport> {
    const startedMs = performance.now()
    const previous = active.hash
    let sources = isAutomatic ? await readSettled() : await read()
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
    // New workers of a rolling restart may have read the new policies already. The outcome is then `unchanged`,
    // although the active policies have changed.
    const outcome =
      applied.outcome.result === 'unchanged' && sources.hash !== previous
        ? { ...applied.outcome, result: 'applied' as const }
        : applied.outcome
    const restored = broken !== undefined
    if (outcome.result === 'broken') {
      if (!known) meter.reloaded('failure')
      if (broken === undefined) brokenSinceMs = Date.now()
      broken = outcome
    } else {
      if (outcome.result === 'applied') meter.reloaded('success')
      else if (restored) meter.restored()
      broken = undefined
      active = sources
      routes = outcome.routes
      logSourceChanges(logger, states, outcome.sources)
      states = outcome.sources
      await options.onStates?.(sources, states)
    }
    const report: ReloadReport = {
      result: outcome.result,
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
    try {
      return await runComplete(trigger)
    } catch (error) {
      meter.reloaded('failure')
      logger.error(
        { event: 'policy_reload_broke', err: error },
        'the reload failed: the active policies stay',
      )
      return {
        result: 'broken',
        hash: active.hash,
        previousHash: undefined,
        routes,
        durationMs: 0,
        diagnostics: [],
        sources: states,
        workers: undefined,
      }
    }
  }

  function start(trigger: ReloadTrigger): Promise<ReloadReport> {
    const started = runSafely(trigger).finally(() => {
      if (running === started) running = undefined
    })
    running = started
    return started
  }

  logSourceChanges(logger, [], states)
  void options.onStates?.(active, states)
  return {
    reload(trigger) {
      if (running === undefined) return start(trigger)
      next ??= running.then(() => {
        next = undefined
        return start(trigger)
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
      return broken && { problems: broken.problems, sinceMs: brokenSinceMs }
    },
    checks: () => [check(), ...checkSourceStates(states)],
  }

  function check(): GatewayCheck {
    const detail = `${routes} routes, ${active.hash.slice(0, 12)}`
    const [first] = broken?.problems.filter(({ severity }) => severity === 'error') ?? []
    if (first === undefined) return { kind: 'policies', name: 'policies', ok: true, detail }
    const what = `error[${first.code}]: ${first.message}`
    return {
      kind: 'policies',
      name: 'policies',
      ok: true,
      degraded: true,
      detail: `${detail} stay active; ${describeLocation(first.location)}: ${what}`,
    }
  }
}
