import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Diagnostic, hasErrors } from '../runtime/diagnostic.ts'
import { formatDiagnostics } from '../runtime/format-diagnostics.ts'
import { errorCode } from '../runtime/text-source.ts'
import { problemToJson } from './check/render-json.ts'
import { checkDrift } from './check-drift.ts'
import { findFolders } from './find-folders.ts'
import { importContract, nameFromFile } from './import.ts'
import { readContract } from './openapi/read-contract.ts'
import type { Given } from './read-arguments.ts'
import { readReferences } from './read-references.ts'
import type { Terminal } from './terminal.ts'

const EXIT_OK = 0
const EXIT_FAILED = 1
const EXIT_INVALID = 3

/** Runs `import` for the command line: the policy on standard output or in a file, what is wrong on standard error. */
export async function runImport(given: Given, terminal: Terminal): Promise<number> {
  const { out, err, folder, colour, env } = terminal
  const document = readContract(resolve(folder, given.words[0] ?? ''))
  const { configDir } = findFolders(given, terminal)
  const policy = given.text('check')
  if (policy !== undefined)
    return checkDrift(
      {
        document,
        configDir,
        policy: resolve(folder, policy),
        upstream: given.text('upstream'),
        json: given.has('json'),
      },
      terminal,
    )
  const output = given.text('output')
  const { problems: broken, ...references } = readReferences(configDir, env)
  const { text, routes, problems } = importContract(
    document,
    { name: given.text('name') ?? nameFromFile(output), upstream: given.text('upstream') },
    references,
  )
  const all: readonly Diagnostic[] = [...broken.filter((one) => one.severity === 'error'), ...problems]
  const isValid = text !== undefined && !hasErrors(all)
  if (isValid && output !== undefined) {
    const failed = writeNew(resolve(folder, output), text, given.has('force'))
    if (failed !== undefined) {
      err.write(`scopegate: ${output} was not written: ${failed}\n`)
      return EXIT_FAILED
    }
  }
  if (given.has('json')) {
    out.write(
      `${JSON.stringify({ ok: isValid, routes, policy: isValid ? text : null, problems: all.map(problemToJson) }, undefined, 2)}\n`,
    )
    return isValid ? EXIT_OK : EXIT_INVALID
  }
  if (all.length > 0) err.write(`${formatDiagnostics(all, { colour })}\n\n`)
  if (!isValid) {
    const errors = all.filter((one) => one.severity === 'error').length
    err.write(`nothing was written: ${errors} ${errors === 1 ? 'error' : 'errors'}\n`)
    return EXIT_INVALID
  }
  if (output === undefined) out.write(text)
  else err.write(`wrote ${output}: ${routes} ${routes === 1 ? 'route' : 'routes'}. Now: scopegate check\n`)
  return EXIT_OK
}

/** @returns why the file could not be written. */
function writeNew(file: string, text: string, force: boolean): string | undefined {
  try {
    writeFileSync(file, text, { flag: force ? 'w' : 'wx' })
    return undefined
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EEXIST') return 'it is there already (--check compares with it, --force writes over it)'
    return code === 'ENOENT' ? 'there is no such folder' : code
  }
}
