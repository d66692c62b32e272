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

export const CHECK_FORMATS = ['pretty', 'json', 'github', 'sarif'] as const
export type CheckFormat = (typeof CHECK_FORMATS)[number]

export type CheckOptions = InspectOptions & {
  readonly out: { write(text: string): unknown }
  readonly colour: boolean
  /** Default: `pretty`. */
  readonly format?: CheckFormat | undefined
  /** Shows every note instead of one line per code. */
  readonly notes?: boolean | undefined
}

/**
 * Checks configuration and policies offline, as the services do at startup, and reports every problem of every file.
 * Needs no secrets and no network, so it can run where policies are reviewed.
 * @returns the exit code: 0 without errors, 4 if only policy tests fail, 3 for other errors. With `strict`, warnings
 * are errors.
 */
export async function check(options: CheckOptions): Promise<number> {
  return (await checkOnce(options)).exitCode
}

/** Works like {@link check}. Also returns the folders whose changes can change the exit code. */
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
