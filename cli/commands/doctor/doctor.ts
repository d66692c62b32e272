import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import type { Terminal } from '../../terminal.ts'
import type { ParsedArguments } from '../../verb.ts'
import { createReport } from './checks.ts'
import { examine } from './examine.ts'
import { renderFinding, renderSum } from './render.ts'
import { createVisitor } from './visit.ts'

const EXIT_FAULTS = 1
const EXIT_USAGE = 2

/**
 * Examines a gateway from the outside.
 * @returns the exit code: 0 without faults, 1 with faults, 2 for an invalid address.
 * @throws {BootError} when the file of --ca cannot be read.
 */
export async function doctor(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { out, err, colour, folder } = terminal
  const address = readBaseUrl(given.positionals[0] ?? '')
  const resourcePath = given.text('resource') ?? ''
  const protectedPath = given.text('path')
  const wrong =
    address === undefined
      ? `"${given.positionals[0]}" is not an http or https URL`
      : [resourcePath || '/', protectedPath ?? '/'].find((path) => !path.startsWith('/')) === undefined
        ? undefined
        : 'a path must start with /'
  if (address === undefined || wrong !== undefined) {
    err.write(`scopegate: ${wrong}. See: scopegate doctor --help\n`)
    return EXIT_USAGE
  }
  const authority = readAuthority(given.text('ca'), folder)
  const asJson = given.has('json')
  const report = createReport((finding) => {
    if (!asJson && (finding.level !== 'ok' || !given.has('quiet'))) out.write(renderFinding(finding, colour))
  })
  const visitor = createVisitor(authority)
  try {
    await examine({
      baseUrl: address,
      resourcePath: resourcePath.replace(/\/$/, ''),
      protectedPath,
      visitor,
      report,
      nowMs: Date.now,
      authority,
    })
  } finally {
    await visitor.close()
  }
  const { findings } = report
  const isHealthy = findings.every(({ level }) => level !== 'fault')
  if (asJson) out.write(`${JSON.stringify({ healthy: isHealthy, findings }, null, 2)}\n`)
  else out.write(`\n${renderSum(findings)}`)
  return isHealthy ? 0 : EXIT_FAULTS
}

/** Returns origin and path. Removes only a trailing slash, because clients compare the text byte for byte. */
function readBaseUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    return undefined
  if (url.username !== '' || url.password !== '') return undefined
  return text.replace(/\/$/, '')
}

function readAuthority(file: string | undefined, folder: string): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(resolve(folder, file), 'utf8')
  } catch (cause) {
    throw new BootError('ERR_CA_FILE', `scopegate doctor: --ca ${file} cannot be read. Name a PEM file.`, {
      cause,
    })
  }
}
