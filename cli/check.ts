import { noteAnonymousRoutes } from '../gateway/routes/note-anonymous-routes.ts'
import type { PolicyRoute } from '../gateway/routes/policy-route.ts'
import type { ScopeCatalogue } from '../oauth/scope-catalogue.ts'
import { formatDiagnostics } from '../runtime/format-diagnostics.ts'
import { foldNotes } from './fold-notes.ts'
import { openPolicySet } from './open-policy-set.ts'

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
  const { set, policies, problems: found } = await openPolicySet(options)
  const { colour } = options
  const problems = found.filter((one) => one.severity !== 'note')
  const notes = [...found.filter((one) => one.severity === 'note'), ...noteAnonymousRoutes(policies.routes)]
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
    `${summarise(policies.routes, set?.catalogue)}${warnings > 0 ? `; ${count(warnings, 'warning')}` : ''}\n`,
  )
  return EXIT_OK
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
