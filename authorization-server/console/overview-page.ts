import type { ReadinessCheck } from '../../platform/ops/ops-server.ts'
import { type ConsolePage, live } from '../../platform/pages/console-page.ts'
import { docLink } from '../../platform/pages/docs-page.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { definitions, stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import { type KeyState, keyStates } from '../keys/key-states.ts'
import type { ConsoleSource } from './console-source.ts'
import { type Count, type Counts, countText } from './counts.ts'
import { timeText } from './grants-page.ts'

type OverviewData = {
  readonly issuer: string
  readonly store: string
  readonly signIn: readonly string[]
  readonly checks: readonly ReadinessCheck[]
  /** null: the store does not respond. */
  readonly counts: Readonly<Record<'clients' | 'grants' | 'sessions', Count>> | null
  /** Since the start of the process. */
  readonly tokens: number
  readonly denials: Readonly<Record<string, number>>
  readonly signIns: Readonly<Record<string, number>>
  readonly keys: readonly KeyState[]
}

/** The state of the authorization server. Contains no person and no client. */
export function overviewPage(
  source: ConsoleSource,
  counts: () => Promise<Counts>,
): ConsolePage<OverviewData> {
  const { config } = source
  return {
    path: '/',
    title: 'Overview',
    async data() {
      const [metrics, counted] = await Promise.all([source.metrics(), counts().catch(() => undefined)])
      const sum = (name: string, label: string, isIncluded: (labels: Labels) => boolean) =>
        sumBy(metrics, name, label, isIncluded)
      return {
        issuer: config.issuer,
        store: config.store.type,
        signIn: signInMethods(source),
        checks: source.checks(),
        counts: counted
          ? { clients: counted.clients, grants: counted.grants, sessions: counted.sessions }
          : null,
        tokens:
          sum(REQUESTS, 'endpoint', ({ endpoint, result }) => endpoint === 'token' && result === 'ok')[
            'token'
          ] ?? 0,
        denials: sum(REQUESTS, 'result', ({ result }) => result !== 'ok'),
        signIns: sum(SIGN_INS, 'result', () => true),
        keys: keyStates(source.signingKeys(), {
          nowSeconds: Math.floor(Date.now() / 1_000),
          accessTokenSeconds: config.lifetimes.accessTokenSeconds,
        }),
      }
    },
    render: (data) => live('overview', content(data)),
  }
}

const REQUESTS = 'scopegate_oauth_requests_total'
const SIGN_INS = 'scopegate_oauth_sign_ins_total'

type Labels = Readonly<Record<string, unknown>>

/** Adds the values of a counter for each value of a label. */
function sumBy(
  metrics: Awaited<ReturnType<ConsoleSource['metrics']>>,
  name: string,
  label: string,
  isIncluded: (labels: Labels) => boolean,
): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const { labels, value } of metrics.find((metric) => metric.name === name)?.values ?? []) {
    const key = String(labels[label])
    if (isIncluded(labels)) sums[key] = (sums[key] ?? 0) + value
  }
  return sums
}

function signInMethods({ config: { signIn, development } }: ConsoleSource): readonly string[] {
  return [
    ...(signIn.local ? [`local accounts${signIn.secondFactor ? ' with a second factor' : ''}`] : []),
    ...signIn.providers.map(({ title }) => title),
    ...(development ? ['development accounts'] : []),
  ]
}

const RUNBOOKS: Readonly<Record<string, string>> = {
  store: 'ScopegateStoreNotWritable',
  clock: 'ScopegateStoreErrors',
  'secret files': 'ScopegateSecretFileUnusable',
}

function content(data: OverviewData): Html {
  const problems = data.checks.filter(({ ok, degraded }) => !ok || degraded === true)
  return html`${problems.length === 0 ? html`<p>${stateText('ok', 'All checks pass.')}</p>` : problems.map(problem)}
<div class="cards">
${card('Clients', data.counts && countText(data.counts.clients))}
${card('Grants', data.counts && countText(data.counts.grants))}
${card('Sessions', data.counts && countText(data.counts.sessions))}
${card('Token responses since the start', String(data.tokens))}
</div>
${definitions([
  ['Issuer', html`<code>${data.issuer}</code>`],
  ['Store', data.store],
  ['Sign-in', data.signIn.join(', ')],
  ['Sign-ins since the start', sumText(data.signIns)],
  ['Rejected requests since the start', sumText(data.denials)],
])}
<h2>Signing keys</h2>
<p>How to rotate the keys: ${docLink('rotate-keys-and-secrets.md')}</p>
${table(
  ['Key ID', 'Type', 'State', 'Signs from', 'Next key signs from', 'Can be retired from'].map((title) => ({
    title,
  })),
  data.keys.map(keyRow),
)}`
}

function problem({ name, ok, detail = 'failed' }: ReadinessCheck): Html {
  const runbook = RUNBOOKS[name]
  return html`<div class="${ok ? 'notice' : 'wrong'} problem"><h2>${name}</h2><p>${detail}</p>${runbook !== undefined && html`<p>Runbook: ${docLink(`runbooks/${runbook}.md`)}</p>`}</div>`
}

function card(title: string, value: string | null): Html {
  return html`<section class="card"><h2>${title}</h2><p class="number">${value ?? 'unknown'}</p></section>`
}

function sumText(sums: Readonly<Record<string, number>>): string {
  const texts = Object.entries(sums).map(([name, count]) => `${name}: ${count}`)
  return texts.join(', ') || 'none'
}

const STATES = { next: 'notice', signs: 'ok', old: 'notice', done: 'notice' } as const

function keyRow({ kid, type, state, ...times }: KeyState): readonly (Html | string)[] {
  const time = (seconds: number | undefined) =>
    timeText(seconds === undefined ? null : new Date(seconds * 1_000).toISOString())
  return [
    html`<code>${kid}</code>`,
    type,
    stateText(STATES[state], state),
    time(times.notBefore),
    time(times.signsUntil),
    time(times.retireFrom),
  ]
}
