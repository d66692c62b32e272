import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findContradictions } from '../gateway/config/find-contradictions.ts'
import { findUnissuedResources } from '../gateway/config/find-unissued-resources.ts'
import { GatewayFile } from '../gateway/config/gateway-file.ts'
import { toResources } from '../gateway/config/to-resources.ts'
import { addressesOf, UpstreamsFile } from '../gateway/config/upstreams-file.ts'
import { authorizationServersAmong } from '../gateway/routes/authorization-servers.ts'
import { findEmptyResources } from '../gateway/routes/find-empty-resources.ts'
import { loadPolicies } from '../gateway/routes/load-policies.ts'
import { noteAnonymousRoutes } from '../gateway/routes/note-anonymous-routes.ts'
import type { PolicyRoute } from '../gateway/routes/policy-route.ts'
import type { ScopeCatalogue } from '../oauth/scope-catalogue.ts'
import { collectProblems } from '../runtime/collect-problems.ts'
import { hasErrors } from '../runtime/diagnostic.ts'
import { displayPath } from '../runtime/display-path.ts'
import { formatDiagnostics } from '../runtime/format-diagnostics.ts'
import { readConfig } from '../runtime/read-config.ts'
import { readScopeCatalogue } from '../runtime/read-scope-catalogue.ts'
import { foldNotes } from './fold-notes.ts'

const EXIT_OK = 0
const EXIT_INVALID = 3

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Checks configuration and policies offline, as the services would at their start: every problem of every file in one
 * run. It needs no secrets and no network, so it runs where a policy is reviewed.
 * @returns the exit code: 0 when a start would succeed, 3 when something is wrong.
 */
export async function check(options: {
  readonly configDir: string
  /** Instead of the folder that gateway.yaml names. */
  readonly policiesDir?: string | undefined
  readonly out: { write(text: string): unknown }
  readonly colour: boolean
  /** Shows every note, and not a line for all of a kind. */
  readonly notes?: boolean | undefined
  /** The environment whose overrides count; none when left out. */
  readonly env?: Environment | undefined
}): Promise<number> {
  const env = options.env ?? {}
  const { found, attempt } = collectProblems()
  const config = (file: string) => join(options.configDir, file)
  const gateway = attempt(() =>
    readConfig({ file: config('gateway.yaml'), schema: GatewayFile, env, otherSections: ['UPSTREAMS'] }),
  )
  const catalogue = attempt(() =>
    readScopeCatalogue({ file: gateway?.value.scopes ?? config('scopes.yaml') }),
  )
  const upstreamsFile = gateway?.value.upstreams ?? config('upstreams.yaml')
  const upstreams = attempt(() =>
    readConfig({ file: upstreamsFile, schema: UpstreamsFile, env, section: 'UPSTREAMS' }),
  )
  found.push(
    ...findContradictions(
      gateway && { value: gateway.value, file: config('gateway.yaml') },
      upstreams && { value: upstreams.value, file: upstreamsFile },
    ),
  )
  const ownVariables = gateway?.warnings ?? []
  if (existsSync(config('authorization-server.yaml'))) {
    // Only here: the gateway's image holds no authorization server, and no such file either.
    const { AuthorizationServerFile } = await import('../authorization-server/config.ts')
    const other = attempt(() =>
      readConfig({ file: config('authorization-server.yaml'), schema: AuthorizationServerFile, env }),
    )
    if (gateway !== undefined && other !== undefined)
      found.push(
        ...findUnissuedResources(
          gateway.value,
          other.value.protectedResources ?? [],
          displayPath(config('gateway.yaml')),
        ),
      )
    // A variable that one of the two services knows is no slip.
    const unknownToBoth = new Set(other?.warnings.map((one) => one.place.file))
    found.push(...ownVariables.filter((one) => unknownToBoth.has(one.place.file)))
  } else {
    found.push(...ownVariables)
  }
  const dir = options.policiesDir ?? gateway?.value.policies ?? join(options.configDir, '..', 'policies')
  const names = upstreams === undefined ? undefined : new Set(Object.keys(upstreams.value))
  const policies = loadPolicies({
    dir,
    catalogue,
    upstreams: names,
    authorizationServers: authorizationServersOf(gateway?.value, upstreams?.value),
  })
  found.push(...policies.diagnostics, ...noteAnonymousRoutes(policies.routes))
  if (gateway !== undefined && !hasErrors(policies.diagnostics))
    found.push(
      ...findEmptyResources(toResources(gateway.value), policies.routes, displayPath(config('gateway.yaml'))),
    )

  const { colour } = options
  const problems = found.filter((one) => one.severity !== 'note')
  const notes = found.filter((one) => one.severity === 'note')
  for (const text of [
    formatDiagnostics(problems, { colour }),
    options.notes === true ? formatDiagnostics(notes, { colour }) : foldNotes(notes, { colour }),
  ])
    if (text !== '') options.out.write(`${text}\n\n`)
  const errors = found.filter((one) => one.severity === 'error').length
  const warnings = found.filter((one) => one.severity === 'warning').length
  if (errors > 0) {
    options.out.write(`${count(errors, 'error')}${warnings > 0 ? `, ${count(warnings, 'warning')}` : ''}\n`)
    return EXIT_INVALID
  }
  options.out.write(
    `${summarise(policies.routes, catalogue)}${warnings > 0 ? `; ${count(warnings, 'warning')}` : ''}\n`,
  )
  return EXIT_OK
}

function authorizationServersOf(
  gateway: GatewayFile | undefined,
  upstreams: UpstreamsFile | undefined,
): ReadonlySet<string> | undefined {
  if (gateway === undefined || upstreams === undefined) return undefined
  const named = Object.entries(upstreams).map(([name, entry]) => ({ name, urls: addressesOf(entry) }))
  return authorizationServersAmong(named, {
    named: gateway.authorizationServer?.upstream,
    endpoints: gateway.issuers.flatMap(({ introspection }) =>
      introspection === undefined ? [] : [introspection.endpoint],
    ),
  })
}

function summarise(routes: readonly PolicyRoute[], catalogue: ScopeCatalogue | undefined): string {
  const policies = new Set(routes.map((route) => route.policy)).size
  const scopes = new Set(
    routes.flatMap((route) => [...(route.scopes?.all ?? []), ...(route.scopes?.any ?? [])]),
  ).size
  return `ok: ${policies === 1 ? '1 policy' : `${policies} policies`}, ${count(routes.length, 'route')}, ${scopes} of ${count(catalogue?.size ?? 0, 'scope')} used`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
