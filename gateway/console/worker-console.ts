import type { PolicyTest } from '../../policy-engine/format/policy-test.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import type { DecisionRecord, DecisionRecorder } from '../observability/decision-recorder.ts'
import type { Snapshot } from '../snapshot/route.ts'
import { type DecisionFilter, type DecisionSummary, matchesFilter, summarize } from './decision-summary.ts'
import type { DecisionDetail } from './describe-decision.ts'
import type { ExplainForm, ExplainResult } from './explain-form.ts'
import type { IssuerKeyList, listKeys } from './issuer-key-list.ts'
import type { PolicyTestRunner, RouteTests, TestSummary } from './policy-tests.ts'

/** Rows of the list of decisions. */
export const MAX_ROWS = 50
/** Request IDs from trusted proxies can occur several times. */
const MAX_DETAILS = 10

/** A question of the console to a process that serves requests. Plain data. */
export type ConsoleQuery =
  | { readonly ask: 'decisions'; readonly filter: DecisionFilter }
  | { readonly ask: 'decision'; readonly requestId: string }
  | { readonly ask: 'explain'; readonly form: ExplainForm }
  | { readonly ask: 'keys' }
  | { readonly ask: 'test_summary' }
  | { readonly ask: 'tests'; readonly route: string | undefined }

export type DecisionList = {
  /** The newest first, at most `MAX_ROWS`. */
  readonly decisions: readonly DecisionSummary[]
  /** Number of recorded decisions, independent of the filter. */
  readonly recorded: number
  /** Number of allowed requests that were not recorded because of the limit per second. */
  readonly leftOut: number
}

/** A reply. Plain data. */
export type ConsoleReply = {
  readonly decisions?: DecisionList
  readonly details?: readonly DecisionDetail[]
  readonly explained?: ExplainResult
  readonly keys?: readonly IssuerKeyList[]
  readonly testSummary?: TestSummary
  readonly tests?: RouteTests
}

/** The part of the console in a process that serves requests. */
export type WorkerConsole = {
  reply(query: ConsoleQuery): Promise<ConsoleReply>
  /** @param isWatched whether a page shows decisions. */
  watch(isWatched: boolean): void
}

export function createWorkerConsole(parts: {
  readonly recorder: DecisionRecorder
  readonly config: GatewayConfig
  readonly resources: Resources
  readonly snapshot: () => Snapshot
  readonly issuers: Parameters<typeof listKeys>[0]
  /** The tests of the policies in the snapshot. */
  readonly tests: () => readonly PolicyTest[]
}): WorkerConsole {
  const { recorder, config } = parts
  const { subject } = config.log
  let runner: PolicyTestRunner | undefined
  const openRunner = async (): Promise<PolicyTestRunner> => {
    const { createPolicyTestRunner } = await import('./policy-tests.ts')
    runner ??= createPolicyTestRunner(parts)
    return runner
  }
  return {
    async reply(query) {
      switch (query.ask) {
        case 'decisions': {
          const decisions: DecisionSummary[] = []
          for (const record of recorder.newestFirst()) {
            const summary = summarize(record, subject)
            if (matchesFilter(summary, query.filter)) decisions.push(summary)
            if (decisions.length === MAX_ROWS) break
          }
          return { decisions: { decisions, recorded: recorder.size, leftOut: recorder.leftOut } }
        }
        case 'decision': {
          const found: DecisionRecord[] = []
          for (const record of recorder.newestFirst()) {
            if (record.entry.requestId === query.requestId) found.push(record)
            if (found.length === MAX_DETAILS) break
          }
          if (found.length === 0) return { details: [] }
          // Loads the modules of the console only on the first use.
          const { describeDecision } = await import('./describe-decision.ts')
          return { details: found.map((record) => describeDecision(record, { subject })) }
        }
        case 'explain': {
          const { explainForm } = await import('./explain-form.ts')
          return { explained: explainForm(query.form, parts) }
        }
        case 'keys': {
          const { listKeys } = await import('./issuer-key-list.ts')
          return { keys: listKeys(parts.issuers) }
        }
        case 'test_summary':
          return { testSummary: await (await openRunner()).summary() }
        case 'tests':
          return { tests: await (await openRunner()).testsOf(query.route) }
      }
    },
    watch(isWatched) {
      recorder.isWatched = isWatched
    },
  }
}
