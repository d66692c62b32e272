import { type Console, createConsole } from '../../platform/pages/console.ts'
import { linkTo } from '../../platform/pages/console-layout.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { consolePages } from './console-pages.ts'
import type { ConsoleSource, ConsoleState, DescribedPolicies } from './console-source.ts'
import { DECISION_PATH } from './decision-page.ts'
import { createHistory, POINT_MS } from './history.ts'
import type { TestSummary } from './policy-tests.ts'

/** Period of the samples and events while a page is open. Milliseconds. */
const LIVE_MS = 2_000
/** A page load uses a sample that is not older than this. Milliseconds. */
const FRESH_MS = 1_000

/**
 * Opens the console on the management port. `close` ends the live updates and the samples.
 * @returns undefined if the configuration disables the console.
 */
export function openConsole(
  source: ConsoleSource,
): Pick<Console, 'endpoints' | 'notFound' | 'close'> | undefined {
  const { config, version, logger } = source
  if (config.management.console === false) return undefined
  const history = createHistory(Date.now())
  let sampledAtMs = Number.NEGATIVE_INFINITY
  let sampling: Promise<void> | undefined
  let described: DescribedPolicies | undefined
  let summary: TestSummary | undefined

  async function sample(): Promise<void> {
    try {
      const [samples, checks] = await Promise.all([source.sample(), source.checks()])
      history.add(samples, checks, Date.now())
    } catch (error) {
      logger.error({ event: 'console_error', err: error }, 'the console could not take a sample')
    }
    sampledAtMs = performance.now()
    sampling = undefined
  }

  /** Takes a sample if the last sample is older than `ageMs`. Concurrent calls share one sample. */
  function refresh(ageMs: number): Promise<void> {
    if (sampling === undefined && performance.now() - sampledAtMs < ageMs) return Promise.resolve()
    sampling ??= sample()
    return sampling
  }

  const state: ConsoleState = {
    config,
    version,
    policies: source.policies,
    decisions: source.decisions,
    nowMs: Date.now,
    async history() {
      await refresh(FRESH_MS)
      return history
    },
    async describe() {
      if (described?.hash !== source.policies.active.hash) {
        const text = await source.describe()
        if (text === undefined) return described
        const parsed = JSON.parse(text) as DescribedPolicies
        described = { ...parsed, routes: parsed.routes.toSorted(comparePaths) }
      }
      return described
    },
    async testSummary({ hash }) {
      if (summary?.hash !== hash) summary = await source.decisions.testSummary()
      return summary?.hash === hash ? summary : undefined
    },
    async testsOf(route, { hash }) {
      const tests = await source.decisions.testsOf(route)
      return tests?.hash === hash ? tests : undefined
    },
  }
  const console = createConsole({
    name: `${config.name} gateway`,
    version,
    pages: consolePages(state),
    otherConsole: linkTo(config.management.linkedConsole, 'Authorization server'),
    search: { path: DECISION_PATH, parameter: 'id', label: 'Request ID' },
    logger,
  })

  let ticking = false

  async function tick(): Promise<void> {
    if (ticking) return
    ticking = true
    await refresh(console.isWatched ? LIVE_MS / 2 : POINT_MS - LIVE_MS / 2)
    await console.publish()
    ticking = false
  }
  const timer = setInterval(() => void tick(), LIVE_MS).unref()

  return {
    endpoints: console.endpoints,
    notFound: console.notFound,
    close() {
      clearInterval(timer)
      console.close()
    },
  }
}

function comparePaths(a: PolicyRoute, b: PolicyRoute): number {
  return compare(a.path, b.path) || compare(a.name, b.name)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
