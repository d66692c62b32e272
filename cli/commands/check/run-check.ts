import { join } from 'node:path'
import { findFolders, noteShippedPolicies } from '../../find-folders.ts'
import type { Terminal } from '../../terminal.ts'
import type { ParsedArguments } from '../../verb.ts'
import { CHECK_FORMATS, type CheckOptions, check, checkOnce } from './check.ts'
import { readCheckPaths } from './check-paths.ts'
import { readErrorPage } from './error-page.ts'
import { runOnChange } from './watch.ts'

const EXIT_OK = 0
const EXIT_USAGE = 2

/** Runs `check` for the command line. Folders are relative to the working folder, and a terminal gets colors. */
export async function runCheck(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const usageError = (text: string) => {
    terminal.err.write(`scopegate: ${text}. See: scopegate check --help\n`)
    return EXIT_USAGE
  }
  const code = given.text('explain')
  if (code !== undefined) {
    const page = readErrorPage(code.toUpperCase())
    if (page === undefined) return usageError(`there is no page about ${JSON.stringify(code)}`)
    terminal.out.write(page.text)
    return EXIT_OK
  }
  const format = CHECK_FORMATS.find((one) => one === given.text('format'))
  if (given.has('json') && format !== undefined && format !== 'json')
    return usageError(`--json and --format ${format} exclude each other`)
  if (given.has('watch') && (given.has('json') || (format ?? 'pretty') !== 'pretty'))
    return usageError('--watch writes for people: leave --json and --format out')
  if (given.has('policies') && given.positionals.length > 0)
    return usageError('give the policies as PATH or as --policies, not both')
  const paths =
    given.positionals.length === 0 ? undefined : readCheckPaths(given.positionals, terminal.folder)
  if (paths !== undefined && 'wrong' in paths) return usageError(paths.wrong)
  const folders = { ...findFolders(given, terminal), ...paths }
  noteShippedPolicies(folders, terminal)
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

/** Checks again after each change, until the process is interrupted. */
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
