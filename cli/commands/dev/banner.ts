import { styleText } from 'node:util'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { StartedServices } from './start-all.ts'

/** Formats the text that the terminal shows after the start: routes, addresses, accounts, and an example request. */
export function formatBanner(
  options: {
    readonly baseUrl: string
    readonly dataDir: string
    readonly routes: readonly PolicyRoute[]
    readonly startedAtMs: number
  } & StartedServices,
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

/** Formats the route table for a terminal: one line per path, with the required scopes of each method. */
function formatRouteTable(routes: readonly PolicyRoute[]): string {
  const byPath = new Map<string, PolicyRoute[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  const width = Math.max(...[...byPath.keys()].map((path) => path.length), 0)
  return [...byPath]
    .map(
      ([path, group]) => `  ${path.padEnd(width)}  ${group.map(formatRule).join(styleText('dim', '  ·  '))}`,
    )
    .join('\n')
}

function formatRule(route: PolicyRoute): string {
  return `${route.methods.join(',')} ${styleText('cyan', formatScopes(route))}`
}

function formatScopes(route: PolicyRoute): string {
  if (route.scopes === undefined) return '-'
  const { all, any } = route.scopes
  return [...all, ...(any.length > 0 ? [`one of ${any.join(', ')}`] : [])].join(' and ')
}

/**
 * Chooses the path of the example request in the banner. Prefers routes for anonymous callers, then paths without
 * parameters, then collections. The path of a collection is the beginning of the path of another route.
 * @returns a path with sample values for parameters, or undefined when every route for GET also requires a header.
 */
export function exampleTarget(routes: readonly PolicyRoute[]): string | undefined {
  const readable = routes.filter(
    ({ methods, matchHeaders }) => methods.includes('GET') && matchHeaders.length === 0,
  )
  const rank = ({ anonymous, path }: PolicyRoute): number =>
    (anonymous === 'allow' ? 0 : 4) +
    (/[{*]/.test(path) ? 2 : 0) +
    (routes.some((other) => other.path.startsWith(`${path}/`)) ? 0 : 1)
  const [best] = readable.toSorted((a, b) => rank(a) - rank(b))
  return best?.path.replace(/\{[^}]*\}/g, '1').replace('**', '')
}
