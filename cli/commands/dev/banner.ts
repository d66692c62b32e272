import { styleText } from 'node:util'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { StartedServices } from './start-all.ts'

/** Formats the text that the terminal shows after the start: addresses, accounts, and an example request. */
export function formatBanner(
  options: {
    readonly baseUrl: string
    readonly routes: readonly PolicyRoute[]
    readonly startedAtMs: number
  } & Pick<StartedServices, 'gateway' | 'takenManagementPort'>,
): string {
  const { baseUrl, gateway, takenManagementPort } = options
  const seconds = ((performance.now() - options.startedAtMs) / 1000).toFixed(1)
  const managementNote = takenManagementPort === undefined ? '' : `  (port ${takenManagementPort} was in use)`
  const title = (text: string): string => styleText('bold', text)
  return `
${title('Scopegate is ready')} after ${seconds} s

  API           ${styleText('cyan', baseUrl)}
  reference     ${baseUrl}/docs
  get a token   ${baseUrl}/auth.md
  management    ${gateway.managementUrl}${managementNote}
  sign in as    alice / alice   or   bob / bob   (development only)
  routes        npx scopegate routes --url ${gateway.managementUrl}
  try           ${styleText('cyan', `curl ${baseUrl}${exampleTarget(options.routes) ?? '/auth.md'}`)}

One line for each decision, token and failed request follows. Ctrl-C stops everything.
`
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
