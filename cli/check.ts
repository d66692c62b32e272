import { noteAnonymousRoutes } from '../gateway/routes/note-anonymous-routes.ts'
import { sortDiagnostics } from '../runtime/diagnostic.ts'
import { readPackageVersion } from '../runtime/package-version.ts'
import { renderGithub } from './check/render-github.ts'
import { renderJson } from './check/render-json.ts'
import { renderPretty } from './check/render-pretty.ts'
import { renderSarif } from './check/render-sarif.ts'
import { type CheckReport, count, measure } from './check/report.ts'
import { type OpenPolicySetOptions, openPolicySet } from './open-policy-set.ts'

const EXIT_OK = 0
const EXIT_INVALID = 3

/** How a report is written. */
export const CHECK_FORMATS = ['pretty', 'json', 'github', 'sarif'] as const
export type CheckFormat = (typeof CHECK_FORMATS)[number]

/** What to check, and how to tell. */
export type CheckOptions = OpenPolicySetOptions & {
  readonly out: { write(text: string): unknown }
  readonly colour: boolean
  /** Pretty when it is left out. */
  readonly format?: CheckFormat | undefined
  /** Shows every note, and not a line for all of a kind. */
  readonly notes?: boolean | undefined
}

/**
 * Checks configuration and policies offline, as the services would at their start: every problem of every file in one
 * run. It needs no secrets and no network, so it runs where a policy is reviewed.
 * @returns the exit code: 0 when a start would succeed, 3 when something is wrong.
 */
export async function check(options: CheckOptions): Promise<number> {
  return (await checkOnce(options)).exitCode
}

/** The same, and which folders to watch for what would change it. */
export async function checkOnce(
  options: CheckOptions,
): Promise<{ readonly exitCode: number; readonly folders: readonly string[] }> {
  const { set, policies, problems: found, folders } = await openPolicySet(options)
  const report: CheckReport = {
    problems: sortDiagnostics(found.filter((one) => one.severity !== 'note')),
    notes: [...found.filter((one) => one.severity === 'note'), ...noteAnonymousRoutes(policies.routes)],
    sizes: measure(policies.routes, set?.catalogue.size ?? 0),
  }
  options.out.write(render(report, options))
  return { exitCode: count(report.problems, 'error') > 0 ? EXIT_INVALID : EXIT_OK, folders }
}

function render(report: CheckReport, { format, colour, notes }: CheckOptions): string {
  const allNotes = notes === true
  switch (format ?? 'pretty') {
    case 'pretty':
      return renderPretty(report, { colour, allNotes })
    case 'json':
      return renderJson(report)
    case 'github':
      return renderGithub(report, { allNotes })
    case 'sarif':
      return renderSarif(report, readPackageVersion())
  }
}
