import type { DecisionFilter } from './decision-summary.ts'
import type { DecisionDetail } from './describe-decision.ts'
import type { ExplainForm, ExplainResult } from './explain-form.ts'
import { type CountedKey, mergeKeys } from './issuer-key-list.ts'
import type { RouteTests, TestSummary } from './policy-tests.ts'
import { type ConsoleQuery, type ConsoleReply, type DecisionList, MAX_ROWS } from './worker-console.ts'

/** The decisions and the keys of issuers of all processes of a gateway, and the results of one process. */
export type DecisionSource = {
  list(filter: DecisionFilter): Promise<DecisionList>
  /** Returns the decisions with this request ID, the newest first. */
  find(requestId: string): Promise<readonly DecisionDetail[]>
  /** Returns undefined if no process replies. */
  explain(form: ExplainForm): Promise<ExplainResult | undefined>
  /** Returns the keys of each issuer, and the number of processes that replied. */
  keys(): Promise<{
    readonly byIssuer: ReadonlyMap<string, readonly CountedKey[]>
    readonly processes: number
  }>
  /** Runs the tests of the active policies, if no earlier call ran them. Returns undefined if no process replies. */
  testSummary(): Promise<TestSummary | undefined>
  /** @param route undefined: the tests without a route. */
  testsOf(route: string | undefined): Promise<RouteTests | undefined>
  /** Whether the processes record allowed requests. */
  readonly isWatched: boolean
  /** Records allowed requests until the caller calls the returned function. */
  watch(): () => void
}

/**
 * @param ask returns the replies of all processes that reply in time. With `any`, returns the reply of one process.
 * @param watch called when the first page opens and when the last page closes.
 */
export function createDecisionSource({
  ask,
  watch,
}: {
  readonly ask: (query: ConsoleQuery, whom: 'all' | 'any') => Promise<readonly (ConsoleReply | undefined)[]>
  readonly watch: (isWatched: boolean) => void
}): DecisionSource {
  let watchers = 0
  return {
    async list(filter) {
      const replies = await ask({ ask: 'decisions', filter }, 'all')
      const lists = replies.flatMap((reply) => reply?.decisions ?? [])
      return {
        decisions: newestFirst(lists.flatMap(({ decisions }) => decisions)).slice(0, MAX_ROWS),
        recorded: lists.reduce((sum, { recorded }) => sum + recorded, 0),
        leftOut: lists.reduce((sum, { leftOut }) => sum + leftOut, 0),
      }
    },
    async find(requestId) {
      const replies = await ask({ ask: 'decision', requestId }, 'all')
      return newestFirst(replies.flatMap((reply) => reply?.details ?? []))
    },
    async explain(form) {
      const [reply] = await ask({ ask: 'explain', form }, 'any')
      return reply?.explained
    },
    async keys() {
      const replies = await ask({ ask: 'keys' }, 'all')
      const lists = replies.flatMap((reply) => (reply?.keys === undefined ? [] : [reply.keys]))
      return { byIssuer: mergeKeys(lists), processes: lists.length }
    },
    async testSummary() {
      const [reply] = await ask({ ask: 'test_summary' }, 'any')
      return reply?.testSummary
    },
    async testsOf(route) {
      const [reply] = await ask({ ask: 'tests', route }, 'any')
      return reply?.tests
    },
    get isWatched() {
      return watchers > 0
    },
    watch() {
      watchers += 1
      if (watchers === 1) watch(true)
      return () => {
        watchers -= 1
        if (watchers === 0) watch(false)
      }
    },
  }
}

function newestFirst<D extends { readonly timeMs: number }>(decisions: readonly D[]): readonly D[] {
  return decisions.toSorted((a, b) => b.timeMs - a.timeMs)
}
