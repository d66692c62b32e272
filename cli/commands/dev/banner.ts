import { styleText } from 'node:util'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import { exampleTarget } from './example-target.ts'
import { formatRouteTable } from './format-route-table.ts'
import type { Started } from './start-all.ts'

/** Formats the text that the terminal shows after the start: routes, addresses, accounts, and an example request. */
export function formatBanner(
  options: {
    readonly baseUrl: string
    readonly dataDir: string
    readonly routes: readonly PolicyRoute[]
    readonly startedAtMs: number
  } & Started,
): string {
  const { baseUrl, gateway, authorizationServer, demo, takenManagementPort } = options
  const seconds = ((performance.now() - options.startedAtMs) / 1000).toFixed(1)
  const managementNote =
    takenManagementPort === undefined
      ? ''
      : `\n                        port ${takenManagementPort} was in use`
  const title = (text: string): string => styleText('bold', text)
  return `
${title('Routes')} (scopes that a token needs; the policy sets the access without a token)
${formatRouteTable(options.routes)}

${title('Scopegate is ready')} after ${seconds} s

  gateway               ${styleText('cyan', baseUrl)}
  for agents            ${baseUrl}/auth.md
  API description       ${baseUrl}/openapi.json
  discovery             ${baseUrl}/.well-known/oauth-protected-resource
                        ${baseUrl}/.well-known/oauth-authorization-server
  management            ${gateway.managementUrl}  (/livez /readyz /metrics)${managementNote}
  authorization server  ${authorizationServer.url}  (behind the gateway)
  demo API              ${demo.url}  (behind the gateway)
  data                  ${options.dataDir}
  sign in as            alice / alice   or   bob / bob   (development only)

  try                   ${styleText('cyan', `curl ${baseUrl}${exampleTarget(options.routes) ?? '/auth.md'}`)}

${title('Decisions')} as requests arrive. Ctrl-C stops everything.
`
}
