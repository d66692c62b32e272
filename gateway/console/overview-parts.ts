import type { ChartState } from '../../platform/pages/chart.ts'
import { countText } from '../../platform/pages/count-text.ts'
import { formatAge } from '../../platform/pages/format-time.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { stateText } from '../../platform/pages/state-text.ts'
import type { SourceState } from '../../policy-engine/load/load-policy-sources.ts'
import type { CheckKind } from '../observability/readiness-check.ts'
import type { ConsoleState } from './console-source.ts'
import type { History, Point } from './history.ts'
import { RECENT_POINTS } from './route-traffic.ts'
import type { RedisFallbacks, ReloadCounts } from './sample.ts'

/** The state of Redis, the revocation streams and the policies. */
export type Parts = {
  /** null: the gateway uses no Redis. */
  readonly redis: (Checked & { readonly fallbacksOfLastMinute: RedisFallbacks }) | null
  /** null: no issuer has a revocation stream. */
  readonly revocationStreams:
    | (Checked & {
        readonly lastReceivedMs: number | null
        /** Revocation gaps during the time of the charts. */
        readonly gaps: number
      })
    | null
  readonly policies: {
    /** Whether the policies on the disk are active. An invalid policy source does not change this value. */
    readonly areActive: boolean
    readonly sources: readonly Pick<SourceState, 'name' | 'state'>[]
    /** Reloads during the time of the charts. */
    readonly reloads: ReloadCounts
    readonly lastReloadMs: number | null
  }
}

type Checked = {
  /** Number of checks of `/readyz`. */
  readonly checks: number
  /** The details of the checks with a problem. */
  readonly problems: readonly string[]
}

/** The values of a point of the charts. */
export type PartsPoint = {
  readonly redisFallbacksPerSecond: number
  readonly failingStreams: number
  readonly failingPolicies: number
}

export function toParts(history: History, { states, failure }: ConsoleState['policies']): Parts {
  const { points, lastRevocationMs = null, lastReloadMs = null } = history
  const checked = (wanted: CheckKind): Checked => {
    const checks = history.checks.filter(({ kind }) => kind === wanted)
    return {
      checks: checks.length,
      problems: checks.flatMap(({ ok, degraded, detail }) =>
        ok && degraded !== true ? [] : [detail ?? 'failed'],
      ),
    }
  }
  const sum = (of: (totals: Point['totals']) => number, since = 0) =>
    points.slice(since).reduce((total, { totals }) => total + of(totals), 0)
  const [redis, streams] = [checked('redis'), checked('revocation_stream')]
  return {
    redis:
      redis.checks === 0
        ? null
        : {
            ...redis,
            fallbacksOfLastMinute: {
              rateLimits: sum(({ redisFallbacks }) => redisFallbacks.rateLimits, -RECENT_POINTS),
              tokenLookups: sum(({ redisFallbacks }) => redisFallbacks.tokenLookups, -RECENT_POINTS),
              proofs: sum(({ redisFallbacks }) => redisFallbacks.proofs, -RECENT_POINTS),
            },
          },
    revocationStreams:
      streams.checks === 0
        ? null
        : {
            ...streams,
            lastReceivedMs: lastRevocationMs,
            gaps: sum(({ revocationGaps }) => revocationGaps),
          },
    policies: {
      areActive: failure === undefined,
      sources: states.map(({ name, state }) => ({ name, state })),
      reloads: {
        success: sum(({ reloads }) => reloads.success),
        failure: sum(({ reloads }) => reloads.failure),
      },
      lastReloadMs,
    },
  }
}

/** @param seconds length of the point. */
export function toPartsPoint({ totals }: Point, seconds: number): PartsPoint {
  return {
    redisFallbacksPerSecond: total(totals.redisFallbacks) / seconds,
    failingStreams: totals.failingStreams,
    failingPolicies: totals.failingPolicies,
  }
}

function total({ rateLimits, tokenLookups, proofs }: RedisFallbacks): number {
  return rateLimits + tokenLookups + proofs
}

/** Renders one card for each part that the configuration contains. */
export function partCards(
  { redis, revocationStreams, policies }: Parts,
  {
    nowMs,
    lastMinute,
    chart,
    card,
  }: {
    readonly nowMs: number
    readonly lastMinute: { readonly revocations: number }
    readonly chart: (of: (point: PartsPoint) => number, label: string, state: ChartState) => Html
    readonly card: (title: string, number: string, picture: Html, note: Html) => Html
  },
): Html {
  const ago = (ms: number) => `${formatAge(nowMs - ms)} ago`
  const cards: Html[] = []
  if (redis !== null) {
    const { rateLimits, tokenLookups, proofs } = redis.fallbacksOfLastMinute
    cards.push(
      card(
        'Operations without Redis',
        String(total(redis.fallbacksOfLastMinute)),
        chart((point) => point.redisFallbacksPerSecond, 'Operations without Redis per second', 'notice'),
        html`${connection(redis)}; rate limits ${rateLimits}, token lookups ${tokenLookups}, DPoP proofs ${proofs}`,
      ),
    )
  }
  if (revocationStreams !== null) {
    const { checks, problems, lastReceivedMs, gaps } = revocationStreams
    const last = lastReceivedMs === null ? 'no revocation so far' : `last revocation ${ago(lastReceivedMs)}`
    cards.push(
      card(
        'Revocation streams',
        `${checks - problems.length} of ${checks} connected`,
        chart((point) => point.failingStreams, 'Revocation streams without a connection', 'notice'),
        html`${connection(revocationStreams)}; ${countText(lastMinute.revocations, 'revocation')} received, ${last}; gaps in 30 min: ${gaps}`,
      ),
    )
  }
  const { sources, reloads, lastReloadMs } = policies
  const valid = sources.filter(({ state }) => state === 'valid').length
  const last = lastReloadMs === null ? 'no change so far' : `last change ${ago(lastReloadMs)}`
  cards.push(
    card(
      sources.length === 0 ? 'Policies' : 'Policy sources',
      sources.length > 0
        ? `${valid} of ${sources.length} valid`
        : policies.areActive
          ? 'active'
          : 'not active',
      chart((point) => point.failingPolicies, 'Invalid policies and policy sources', 'notice'),
      html`${policyState(policies)}; ${last}; reloads in 30 min: ${reloads.success}, failed: ${reloads.failure}`,
    ),
  )
  return html`${cards}`
}

function connection({ problems: [first] }: Checked): Html {
  return first === undefined ? stateText('ok', 'connected') : stateText('notice', first)
}

/** Maximum number of names of invalid policy sources. */
const SHOWN_SOURCES = 3

function policyState({ areActive, sources }: Parts['policies']): Html {
  if (!areActive) return stateText('notice', 'the policies on the disk are not active')
  const invalid = sources.filter(({ state }) => state !== 'valid')
  if (invalid.length === 0) return stateText('ok', 'the policies on the disk are active')
  const names = invalid.slice(0, SHOWN_SOURCES).map(({ name }) => name)
  const more = invalid.length - names.length
  return stateText(
    invalid.some(({ state }) => state === 'unavailable') ? 'wrong' : 'notice',
    `invalid: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
  )
}
