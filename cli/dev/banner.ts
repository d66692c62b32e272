import { styleText } from 'node:util'
import type { PolicyRoute } from '../../gateway/routes/policy-route.ts'
import { formatRouteTable } from './format-route-table.ts'
import type { Started } from './start-all.ts'

/** Writes what stands on the terminal once everything runs: where it is, who may sign in, the routes, a line to try. */
export function formatBanner(
  options: {
    readonly baseUrl: string
    readonly dataDir: string
    readonly routes: readonly PolicyRoute[]
    readonly startedAtMs: number
  } & Started,
): string {
  const { baseUrl, gateway, authorizationServer, demo } = options
  const seconds = ((performance.now() - options.startedAtMs) / 1000).toFixed(1)
  const title = (text: string): string => styleText('bold', text)
  return `
${title('Routes')} (scopes that a token needs; a request without a token is served as anonymous unless the policy says otherwise)
${formatRouteTable(options.routes)}

${title('Scopegate is ready')} after ${seconds} s

  gateway               ${styleText('cyan', baseUrl)}
  for agents            ${baseUrl}/auth.md
  API description       ${baseUrl}/openapi.json
  discovery             ${baseUrl}/.well-known/oauth-protected-resource
                        ${baseUrl}/.well-known/oauth-authorization-server
  management            ${gateway.managementUrl}  (/livez /readyz /metrics)
  authorization server  ${authorizationServer.url}  (behind the gateway)
  demo API              ${demo.url}  (behind the gateway)
  data                  ${options.dataDir}
  sign in as            alice / alice   or   bob / bob   (development only)

  try                   ${styleText('cyan', `curl ${baseUrl}/api/courses`)}

${title('Decisions')} as requests come; Ctrl-C ends everything
`
}
