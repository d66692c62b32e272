import { readPackageVersion } from '../../../platform/process/package-version.ts'
import { type InspectOptions, inspect } from './inspect.ts'
import { renderGithub } from './render-github.ts'
import { renderJson } from './render-json.ts'
import { renderPretty } from './render-pretty.ts'
import { renderSarif } from './render-sarif.ts'
import { type CheckReport, isTestFailure } from './report.ts'

const EXIT_OK = 0
const EXIT_INVALID = 3
const EXIT_FAILED = 4

/** How a report is written. */
export const CHECK_FORMATS = ['pretty', 'json', 'github', 'sarif'] as const
export type CheckFormat = (typeof CHECK_FORMATS)[number]

/** What to check, and how to tell. */
export type CheckOptions = InspectOptions & {
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
 * @returns the exit code: 0 without errors, 4 if only tests of policies fail, 3 for other errors. With `strict` warnings are errors.
 */
export async function check(options: CheckOptions): Promise<number> {
  return (await checkOnce(options)).exitCode
}

/** Does the same as {@link check}. Also returns the folders whose changes can change the exit code. */
export async function checkOnce(
  options: CheckOptions,
): Promise<{ readonly exitCode: number; readonly folders: readonly string[] }> {
  const report = await inspect(options)
  options.out.write(render(report, options))
  return { exitCode: exitCodeOf(report), folders: report.folders }
}

function exitCodeOf({ problems, hiddenErrors }: CheckReport): number {
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (hiddenErrors > 0 || errors.some((one) => !isTestFailure(one))) return EXIT_INVALID
  return errors.length > 0 ? EXIT_FAILED : EXIT_OK
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
