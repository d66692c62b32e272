import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { live } from '../../platform/pages/console-page.ts'
import { html } from '../../platform/pages/html.ts'
import type { ConsoleState } from './console-source.ts'

type OverviewData = {
  readonly requests: number
  readonly problems: readonly {
    readonly name: string
    readonly detail: string
    readonly sinceMs: number | null
  }[]
}

/** The state of the gateway: problems first, then traffic. */
export function overviewPage(state: ConsoleState): ConsolePage<OverviewData> {
  return {
    path: '/',
    title: 'Overview',
    async data() {
      const history = await state.history()
      return {
        requests: history.points.slice(-6).reduce((sum, { totals }) => sum + totals.requests, 0),
        problems: history.checks
          .filter(({ ok, degraded }) => !ok || degraded === true)
          .map(({ name, detail = 'failed' }) => ({
            name,
            detail,
            sinceMs: history.unhealthySinceMs(name) ?? null,
          })),
      }
    },
    render({ requests, problems }) {
      return live(
        'overview',
        html`${problems.length === 0 ? html`<p class="state ok">All checks pass.</p>` : problems.map(({ name, detail }) => html`<div class="wrong problem"><h2>${name}</h2><p>${detail}</p></div>`)}<p>${requests} requests in the last minute.</p>`,
      )
    },
  }
}
