import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import { errorCode } from '../../../platform/diagnostics/yaml/text-source.ts'
import { readPackageVersion } from '../../../platform/process/package-version.ts'
import { findFolders } from '../../find-folders.ts'
import { openPolicySet } from '../../open-policy-set.ts'
import type { Terminal } from '../../terminal.ts'
import type { ParsedArguments } from '../../verb.ts'
import { problemToJson } from '../check/render-json.ts'
import { exportOpenapi } from './export-openapi.ts'

const EXIT_OK = 0
const EXIT_FAILED = 1
const EXIT_INVALID = 3

export async function runExport(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { out, err, folder, colour, env } = terminal
  const output = given.text('output')
  const { set, problems } = await openPolicySet({ ...findFolders(given, terminal), env })
  if (set === undefined) {
    const errors = problems.filter((one) => one.severity === 'error')
    if (given.has('json'))
      out.write(`${JSON.stringify({ problems: errors.map(problemToJson) }, undefined, 2)}\n`)
    else err.write(`${formatDiagnostics(errors, { colour })}\n\n`)
    return EXIT_INVALID
  }
  const { document, leftOut } = exportOpenapi(set, {
    version: given.text('api-version') ?? readPackageVersion(),
    withKeys: given.has('x-scopegate'),
  })
  for (const { name } of leftOut)
    err.write(`${name} is left out: OpenAPI has no second operation for its method and path\n`)
  const text = `${JSON.stringify(document, undefined, 2)}\n`
  if (output === undefined) {
    out.write(text)
    return EXIT_OK
  }
  try {
    writeFileSync(resolve(folder, output), text)
    return EXIT_OK
  } catch (error) {
    err.write(`scopegate: ${output} was not written: ${errorCode(error)}\n`)
    return EXIT_FAILED
  }
}
