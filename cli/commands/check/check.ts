import { join } from 'node:path'
import { readPackageVersion } from '../../../platform/process/package-version.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { findFolders, noteShippedConfig } from '../../find-folders.ts'
import type { Terminal } from '../../terminal.ts'
import { readCheckPaths } from './check-paths.ts'
import { readErrorPage } from './error-page.ts'
import { type InspectOptions, inspect } from './inspect.ts'
import { renderGithub } from './render-github.ts'
import { renderJson } from './render-json.ts'
import { renderPretty } from './render-pretty.ts'
import { renderSarif } from './render-sarif.ts'
import { type CheckReport, isTestFailure } from './report.ts'
import { runOnChange } from './watch.ts'

const EXIT_OK = 0
const EXIT_INVALID = 3
const EXIT_FAILED = 4

const CHECK_FORMATS = ['pretty', 'json', 'github', 'sarif'] as const
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
 * Runs `scopegate check`: one check, repeated checks (`--watch`), or the page of a code (`--explain`).
 * @returns the exit code as {@link check}.
 * @throws {BootError} ERR_USAGE.
 */
export async function runCheck(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const code = given.text('explain')
  if (code !== undefined) {
    const page = readErrorPage(code.toUpperCase())
    if (page === undefined) throw usageError('check', `unknown code: ${JSON.stringify(code)}`)
    terminal.out.write(page.text)
    return EXIT_OK
  }
  const format = CHECK_FORMATS.find((one) => one === given.text('format'))
  if (given.has('json') && format !== undefined && format !== 'json')
    throw usageError('check', `use either --json or --format ${format}`)
  if (given.has('watch') && (given.has('json') || (format ?? 'pretty') !== 'pretty'))
    throw usageError('check', '--watch supports only the pretty format: remove --json or --format')
  if (given.has('policies') && given.positionals.length > 0)
    throw usageError('check', 'use either PATH or --policies')
  const paths =
    given.positionals.length === 0 ? undefined : readCheckPaths(given.positionals, terminal.folder)
  if (paths !== undefined && 'wrong' in paths) throw usageError('check', paths.wrong)
  if (given.has('source') && (given.has('policies') || paths !== undefined))
    throw usageError('check', 'use either --source or the folder of its policies')
  const folders = { ...findFolders(given, terminal, paths?.policiesDir), files: paths?.files }
  noteShippedConfig(folders, terminal)
  const options: CheckOptions = {
    ...folders,
    format: given.has('json') ? 'json' : format,
    notes: given.has('notes'),
    noTests: given.has('no-tests'),
    strict: given.has('strict'),
    out: terminal.out,
    colour: terminal.colour,
    env: terminal.env,
  }
  return given.has('watch') ? watchAndCheck(options) : check(options)
}

/** Repeats the check after each change, until the process is interrupted. */
async function watchAndCheck(options: CheckOptions): Promise<number> {
  const ending = new AbortController()
  const end = () => ending.abort()
  process.once('SIGINT', end).once('SIGTERM', end)
  try {
    const { configDir, policiesDir = join(configDir, '..', 'policies') } = options
    await runOnChange({
      folders: [configDir, policiesDir],
      end: ending.signal,
      run: async (changed) => {
        if (changed !== undefined) options.out.write(`\n-- ${changed} changed ${'-'.repeat(40)}\n\n`)
        return (await checkOnce(options)).folders
      },
    })
    return EXIT_OK
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end)
  }
}

/**
 * Checks configuration and policies offline, as the services do at startup, and reports every problem of every file.
 * Needs no secrets and no network, so the check can run where policies are reviewed.
 * @returns the exit code: 0 without errors, 4 if only policy tests fail, 3 for other errors. With `strict`, warnings
 * are errors.
 */
export async function check(options: CheckOptions): Promise<number> {
  return (await checkOnce(options)).exitCode
}

/** Works like {@link check}. Also returns the folders whose changes can change the exit code. */
async function checkOnce(
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
