import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { styleText } from 'node:util'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import type { Terminal } from '../../terminal.ts'
import { createReport, type Finding } from './checks.ts'
import { examine } from './examine.ts'
import { createHttpClient } from './http-client.ts'

const EXIT_FAULTS = 1

/**
 * Examines a gateway from the outside.
 * @returns the exit code: 0 without faults, 1 with faults.
 * @throws {BootError} when the file of --ca cannot be read. ERR_USAGE for an invalid URL or path.
 */
export async function doctor(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const { out, colour, folder } = terminal
  const address = readBaseUrl(given.positionals[0] ?? '')
  const resourcePath = given.text('resource') ?? ''
  const protectedPath = given.text('path')
  const wrong =
    address === undefined
      ? `"${given.positionals[0]}" is not an http or https URL`
      : [resourcePath || '/', protectedPath ?? '/'].find((path) => !path.startsWith('/')) === undefined
        ? undefined
        : 'a path must start with /'
  if (address === undefined || wrong !== undefined) throw usageError('doctor', String(wrong))
  const authority = readAuthority(given.text('ca'), folder)
  const asJson = given.has('json')
  const report = createReport((finding) => {
    if (!asJson && (finding.level !== 'ok' || !given.has('quiet'))) out.write(renderFinding(finding, colour))
  })
  const client = createHttpClient(authority)
  try {
    await examine({
      baseUrl: address,
      resourcePath: resourcePath.replace(/\/$/, ''),
      protectedPath,
      client,
      report,
      nowMs: Date.now,
      authority,
    })
  } finally {
    await client.close()
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

const MARKS = { ok: ['✓', 'green'], warning: ['!', 'yellow'], fault: ['✗', 'red'] } as const

/** Formats a finding for a terminal: the check, the observation, and the recommended change. */
export function renderFinding(finding: Finding, colour: boolean): string {
  const { level, check } = finding
  // The examined server can control parts of this text.
  const [where, says] = [visibleText(finding.where), visibleText(finding.says)]
  const remedy = finding.remedy === undefined ? undefined : visibleText(finding.remedy)
  const [mark, tint] = MARKS[level]
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text
  const line = `${paint(tint, mark)} ${paint('bold', check.padEnd(18))} ${says}\n`
  if (remedy === undefined) return line
  return `${line}  ${paint('dim', where)}\n  ${remedy}\n`
}

function renderSum(findings: readonly Finding[]): string {
  const number = (level: Finding['level']): number => findings.filter((one) => one.level === level).length
  const [faults, warnings] = [number('fault'), number('warning')]
  if (faults === 0 && warnings === 0) return `healthy: ${findings.length} checks\n`
  const parts = [
    ...(faults === 0 ? [] : [`${faults} ${faults === 1 ? 'fault' : 'faults'}`]),
    ...(warnings === 0 ? [] : [`${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`]),
  ]
  return `${parts.join(', ')} in ${findings.length} checks\n`
}
