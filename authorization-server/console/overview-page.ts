import type { ReadinessCheck } from '../../platform/ops/ops-server.ts'
import { type ConsolePage, live } from '../../platform/pages/console-page.ts'
import { type Html, html } from '../../platform/pages/html.ts'
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
        signIns: sum('scopegate_oauth_sign_ins_total', 'result', () => true),
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
  store: 'ScopegateStoreNotWritable.md',
  clock: 'ScopegateStoreErrors.md',
  'secret files': 'ScopegateSecretFileUnusable.md',
}

function content(data: OverviewData): Html {
  const problems = data.checks.filter(({ ok, degraded }) => !ok || degraded === true)
  return html`${
    problems.length === 0
      ? html`<p class="state ok">All checks pass.</p>`
      : problems.map(
          ({ name, detail = 'failed' }) =>
            html`<div class="wrong problem"><h2>${name}</h2><p>${detail}</p>${RUNBOOKS[name] !== undefined && html`<p>Runbook: <code>docs/runbooks/${RUNBOOKS[name]}</code></p>`}</div>`,
        )
  }
<div class="cards">
${card('Clients', data.counts && countText(data.counts.clients))}
${card('Grants', data.counts && countText(data.counts.grants))}
${card('Sessions', data.counts && countText(data.counts.sessions))}
${card('Token responses since the start', String(data.tokens))}
</div>
<dl>
<div><dt>Issuer</dt><dd><code>${data.issuer}</code></dd></div>
<div><dt>Store</dt><dd>${data.store}</dd></div>
<div><dt>Sign-in</dt><dd>${data.signIn.join(', ')}</dd></div>
<div><dt>Rejected requests since the start</dt><dd>${sumText(data.denials)}</dd></div>
<div><dt>Sign-ins since the start</dt><dd>${sumText(data.signIns)}</dd></div>
</dl>
<h2>Signing keys</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Signing keys"><table>
<thead><tr><th scope="col">Key ID</th><th scope="col">Type</th><th scope="col">State</th><th scope="col">Signs from</th><th scope="col">Next key signs from</th><th scope="col">Can be retired from</th></tr></thead>
<tbody>${data.keys.map(keyRow)}</tbody></table></div>`
}

function card(title: string, value: string | null): Html {
  return html`<section class="card"><h2>${title}</h2><p class="number">${value ?? 'unknown'}</p></section>`
}

function sumText(sums: Readonly<Record<string, number>>): string {
  const texts = Object.entries(sums).map(([name, count]) => `${name}: ${count}`)
  return texts.join(', ') || 'none'
}

function keyRow({ kid, type, state, notBefore, signsUntil, retireFrom }: KeyState): Html {
  const time = (seconds: number | undefined) =>
    timeText(seconds === undefined ? null : new Date(seconds * 1_000).toISOString())
  return html`<tr><td><code>${kid}</code></td><td>${type}</td><td>${state}</td><td>${time(notBefore)}</td><td>${time(signsUntil)}</td><td>${time(retireFrom)}</td></tr>
`
}
