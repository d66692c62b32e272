import { existsSync, writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { type Diagnostic, hasErrors } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import { POLICY_SUFFIX } from '../../../policy-engine/load/policy-sources.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { findFolders, noteShippedConfig } from '../../find-folders.ts'
import { foldNotes } from '../../fold-notes.ts'
import { writeCatalogue } from '../../openapi/catalogue-entries.ts'
import { readChoices } from '../../openapi/read-choices.ts'
import { readContract } from '../../openapi/read-contract.ts'
import { readReferences } from '../../read-references.ts'
import type { Terminal } from '../../terminal.ts'
import { checkDrift } from '../check/check-drift.ts'
import { problemToJson } from '../check/render-json.ts'
import { formatCount } from '../check/report.ts'
import { importContract, nameFromFile } from './import.ts'

const EXIT_OK = 0
const EXIT_FAILED = 1
const EXIT_INVALID = 3

/**
 * Runs `scopegate import`. With `--check`, compares the contract with policies. Otherwise writes the policy to standard
 * output or a file, and problems to standard error. With `--json`, writes one JSON document to standard output.
 */
export async function runImport(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { out, err, folder, colour, env } = terminal
  const document = readContract(resolve(folder, given.positionals[0] ?? ''))
  const folders = findFolders(given, terminal)
  const { configDir } = folders
  noteShippedConfig(folders, terminal, false)
  const choices = readChoices(
    {
      scheme: given.text('scheme'),
      server: given.text('server'),
      prefix: given.text('prefix'),
      scopeMap: given.texts('scope-map'),
      skipUnsupported: given.has('skip-unsupported'),
      withEntries: given.has('catalogue'),
    },
    hasErrors(document.diagnostics) ? undefined : document.value,
    (file) => resolve(folder, file),
  )
  if ('wrong' in choices) throw usageError('import', choices.wrong)
  const policy = given.text('check')
  if (policy !== undefined)
    return checkDrift(
      {
        document,
        choices,
        configDir,
        policy: resolve(folder, policy),
        upstream: given.text('upstream'),
        json: given.has('json'),
      },
      terminal,
    )
  const output = given.text('output')
  const { problems: broken, scopesFile, ...references } = readReferences(configDir, env)
  const { text, routes, open, skipped, entries, problems } = importContract(
    document,
    { name: given.text('name') ?? nameFromFile(output), upstream: given.text('upstream') },
    references,
    choices,
  )
  const all: readonly Diagnostic[] = [...broken.filter((one) => one.severity === 'error'), ...problems]
  const isValid = text !== undefined && !hasErrors(all)
  const catalogueFile = entries.length === 0 ? undefined : given.text('catalogue')
  if (isValid) {
    const files = [
      [catalogueFile, writeCatalogue(entries, basename(document.file))],
      [output, text],
    ] as const
    const failed = writeAll(
      files.flatMap(([file, content]) => (file === undefined ? [] : [[file, content] as const])),
      { folder, force: given.has('force') },
    )
    if (failed !== undefined) {
      err.write(`scopegate: ${failed}\n`)
      return EXIT_FAILED
    }
  }
  if (given.has('json')) {
    out.write(
      `${JSON.stringify({ ok: isValid, routes, open, skipped, scopes: entries, policy: isValid ? text : null, problems: all.map(problemToJson) }, undefined, 2)}\n`,
    )
    return isValid ? EXIT_OK : EXIT_INVALID
  }
  const isNote = ({ severity }: Diagnostic) => severity === 'note'
  const notes = all.filter(isNote)
  const shown = [
    formatDiagnostics(
      all.filter((one) => !isNote(one)),
      { colour },
    ),
    given.has('notes') ? formatDiagnostics(notes, { colour }) : foldNotes(notes, { colour }),
  ].filter((part) => part !== '')
  if (shown.length > 0) err.write(`${shown.join('\n\n')}\n\n`)
  if (!isValid) {
    const errors = all.filter((one) => one.severity === 'error').length
    err.write(`nothing was written: ${errors} ${errors === 1 ? 'error' : 'errors'}\n`)
    return EXIT_INVALID
  }
  if (catalogueFile !== undefined)
    err.write(
      `wrote ${catalogueFile}: ${formatCount(entries.length, 'scope')}. Now: add the scopes to ${folders.searched !== undefined ? 'scopes.yaml of your configuration' : displayPath(scopesFile, folder)}\n`,
    )
  if (output === undefined) out.write(text)
  else err.write(`wrote ${output}: ${formatCount(routes, 'route')}. Now: ${nextStep(output, given)}\n`)
  if (skipped.length > 0) {
    const list = skipped.map(({ operation, code }) => `\n  ${visibleText(operation)} (${code})`).join('')
    err.write(
      `${formatCount(skipped.length, 'operation')} ${skipped.length === 1 ? 'is' : 'are'} skipped:${list}\n`,
    )
  }
  const names = open.length === 0 ? '' : `: ${open.join(', ')}`
  err.write(
    `${formatCount(open.length, 'route')} ${open.length === 1 ? 'is' : 'are'} open to anonymous callers${names}\n`,
  )
  return EXIT_OK
}

/** Returns the command that checks the new policy with the configuration of the import. */
function nextStep(output: string, given: ParsedArguments): string {
  if (nameFromFile(output) === undefined) return `rename the file: a policy is a file *${POLICY_SUFFIX}`
  const config = given.text('config')
  return `scopegate check --strict ${config === undefined ? '' : `--config ${config} `}${output}`
}

/**
 * Writes all files. If `force` is false and one of the files exists, writes no file.
 * @returns the reason for a failure.
 */
function writeAll(
  files: readonly (readonly [file: string, text: string])[],
  { folder, force }: { readonly folder: string; readonly force: boolean },
): string | undefined {
  const taken = force ? undefined : files.find(([file]) => existsSync(resolve(folder, file)))
  const wanted = taken === undefined ? files : [taken]
  for (const [file, text] of wanted) {
    const failed = writeNew(resolve(folder, file), text, force)
    if (failed !== undefined) return `${file} was not written: ${failed}`
  }
  return undefined
}

/** @returns the reason for a failure. */
function writeNew(file: string, text: string, force: boolean): string | undefined {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx' })
    return undefined
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EEXIST')
      return 'the file exists. To compare with this file, use --check. To replace this file, use --force'
    return code === 'ENOENT' ? 'the folder does not exist' : code
  }
}
