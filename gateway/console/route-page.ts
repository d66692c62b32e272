import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { live } from '../../platform/pages/console-page.ts'
import { html } from '../../platform/pages/html.ts'
import { formatScopeRule } from '../../policy-engine/decide/describe-rules.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { ConsoleState } from './console-source.ts'
import { type RouteTraffic, recentRoutes, toTraffic } from './route-traffic.ts'

type RouteData = { readonly route: PolicyRoute; readonly lastMinute: RouteTraffic }

/** One route: every rule, and its traffic. */
export function routePage(state: ConsoleState): ConsolePage<RouteData> {
  return {
    path: '/console/route',
    title: 'Route',
    parent: '/console/routes',
    heading: ({ route }) => route.name,
    async data(query) {
      const [policies, history] = await Promise.all([state.describe(), state.history()])
      const name = query.get('name')
      const route = policies?.routes.find((one) => one.name === name)
      return route && { route, lastMinute: toTraffic(recentRoutes(history).get(route.name)) }
    },
    render({ route, lastMinute }) {
      const { file, line, column } = route.source
      const rules = [
        ['Request', `${route.methods.join(', ')} ${route.path}`],
        ['Policy file', `${file}:${line}:${column}`],
        ['Scopes', route.scopes === undefined ? 'none' : formatScopeRule(route.scopes)],
      ] as const
      return html`<dl>${rules.map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl>
${live('traffic', html`<p>Last minute: ${lastMinute.requests} requests, ${lastMinute.denied} denied, ${lastMinute.failed} failed.</p>`)}`
    },
  }
}
