import { type ConsolePage, live } from '../../platform/pages/console-page.ts'
import { countText } from '../../platform/pages/count-text.ts'
import { docLink } from '../../platform/pages/docs-page.ts'
import { formatAge, formatTime } from '../../platform/pages/format-time.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { definitions, stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import type { IssuerConfig } from '../tokens/issuer-config.ts'
import type { ConsoleState } from './console-source.ts'
import type { DecisionSource } from './decision-source.ts'
import { gaugeOf, gaugesBy, type History } from './history.ts'
import type { CountedKey } from './issuer-key-list.ts'
import { RECENT_POINTS } from './route-traffic.ts'
import { GAUGES, type GaugeName } from './sample.ts'

type IssuerRow = {
  readonly issuer: string
  readonly validation: 'signature' | 'introspection' | 'signature and introspection'
  readonly problems: readonly string[]
  readonly keys: {
    /** Accepted keys; with several workers, the smallest number. */
    readonly count: number
    readonly lastFetchMs: number | null
    readonly algorithms: readonly string[]
    /** The first keys of all processes. */
    readonly list: readonly CountedKey[]
    /** Number of keys that `list` does not contain. */
    readonly more: number
    /** Number of processes that replied. */
    readonly processes: number
  } | null
  readonly introspection: {
    readonly answered: number
    readonly failed: number
    readonly waiting: number
  } | null
  /** null: the issuer publishes no revocations. */
  readonly receivesRevocations: boolean | null
  /** The gateway accepts tokens by an earlier check, because the issuer does not respond. */
  readonly usesEarlierStatus: boolean
}

/** Maximum number of keys of an issuer in the list. */
const SHOWN_KEYS = 20

/** The issuers of tokens, their keys, introspection and revocations. */
export function issuersPage(
  state: ConsoleState,
): ConsolePage<{ readonly nowMs: number; readonly issuers: readonly IssuerRow[] }> {
  return {
    path: '/console/issuers',
    title: 'Issuers',
    async data() {
      const [history, keys] = await Promise.all([state.history(), state.decisions.keys()])
      const issuers = state.config.issuers.map((issuer) => toRow(issuer, history, keys))
      return { nowMs: state.nowMs(), issuers }
    },
    render: ({ issuers, nowMs }) =>
      live(
        'issuers',
        html`<p>The counts are of the last minute. More about issuers: ${docLink('connect-an-issuer.md')}</p>${issuers.map((issuer) => card(issuer, nowMs))}`,
      ),
  }
}

function toRow(
  { issuer, jwt, introspection, ...config }: IssuerConfig,
  { gauges, checks, points }: History,
  { byIssuer, processes }: Awaited<ReturnType<DecisionSource['keys']>>,
): IssuerRow {
  const keys = byIssuer.get(issuer) ?? []
  const gauge = (name: GaugeName) => gaugesBy(gauges, name, 'issuer').get(issuer)
  const lastFetch = gauge(GAUGES.keysFetchedSeconds)
  const channel = gauge(GAUGES.revocationChannelUp)
  let [answered, failed] = [0, 0]
  for (const { issuers } of points.slice(-RECENT_POINTS)) {
    answered += issuers.get(issuer)?.answered ?? 0
    failed += issuers.get(issuer)?.failed ?? 0
  }
  return {
    issuer,
    validation:
      jwt === undefined
        ? 'introspection'
        : introspection === undefined
          ? 'signature'
          : 'signature and introspection',
    problems: checks.flatMap(({ name, ok, degraded, detail }) =>
      name.endsWith(` ${issuer}`) && (!ok || degraded === true) ? [`${name}: ${detail ?? 'failed'}`] : [],
    ),
    keys:
      jwt === undefined
        ? null
        : {
            count: gauge(GAUGES.issuerKeys) ?? 0,
            lastFetchMs: lastFetch === undefined ? null : lastFetch * 1_000,
            algorithms: jwt.algorithms,
            list: keys.slice(0, SHOWN_KEYS),
            more: Math.max(0, keys.length - SHOWN_KEYS),
            processes,
          },
    introspection:
      introspection === undefined
        ? null
        : {
            answered,
            failed,
            waiting: gaugeOf(gauges, GAUGES.introspectionsInFlight, { issuer, state: 'waiting' }) ?? 0,
          },
    receivesRevocations:
      channel === undefined ? (config.revocations === undefined ? null : false) : channel === 1,
    usesEarlierStatus: gauge(GAUGES.staleActive) === 1,
  }
}

function card(issuer: IssuerRow, nowMs: number): Html {
  const { keys, introspection, receivesRevocations, problems } = issuer
  const rows: readonly (readonly [string, Html | string] | undefined)[] = [
    ['State', problems.length === 0 ? stateText('ok', 'ok') : stateText('notice', problems.join('; '))],
    ['Validation of tokens', issuer.validation],
    keys === null
      ? undefined
      : [
          'Keys',
          html`${keys.count === 0 ? stateText('wrong', 'none') : keys.count}, ${keys.lastFetchMs === null ? 'never fetched' : `fetched ${formatTime(keys.lastFetchMs)} (${formatAge(nowMs - keys.lastFetchMs)} ago)`}; accepted algorithms: ${keys.algorithms.join(', ')}`,
        ],
    introspection === null
      ? undefined
      : [
          'Introspection',
          html`${countText(introspection.answered, 'response')}, ${introspection.failed > 0 ? stateText('wrong', `${introspection.failed} failed`) : '0 failed'}, ${introspection.waiting} waiting`,
        ],
    [
      'Revocations',
      receivesRevocations === null
        ? 'the issuer publishes none'
        : receivesRevocations
          ? stateText('ok', 'connected')
          : stateText('notice', 'not connected: tokenCache.ttlWithoutPush limits the use of revoked tokens'),
    ],
    issuer.usesEarlierStatus
      ? [
          'Earlier status',
          stateText(
            'notice',
            'the gateway accepts tokens by an earlier check, because the issuer does not respond',
          ),
        ]
      : undefined,
  ]
  return html`<section><h2>${issuer.issuer}</h2>${definitions(rows.flatMap((row) => (row === undefined ? [] : [row])))}${keys !== null && keys.list.length > 0 && keyTable(keys)}</section>`
}

const KEY_COLUMNS = [
  { title: 'Key ID (kid)' },
  { title: 'Algorithm' },
  { title: 'Type' },
  { title: 'Use' },
] as const

/** Shows the column of the processes only if there are several processes. */
function keyTable({ list, more, processes }: NonNullable<IssuerRow['keys']>): Html {
  const hasSeveral = processes > 1
  const rows = list.map(({ kid, algorithm, type, use, processes: having }) => [
    kid === null ? 'none' : html`<code>${kid}</code>`,
    algorithm ?? 'not stated',
    type,
    use ?? 'not stated',
    ...(hasSeveral ? [having === processes ? 'all' : stateText('notice', `${having} of ${processes}`)] : []),
  ])
  return html`${table(hasSeveral ? [...KEY_COLUMNS, { title: 'Workers' }] : KEY_COLUMNS, rows)}${more > 0 && html`<p>${more} more keys</p>`}`
}
