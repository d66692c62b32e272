import { existsSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readGatewayFile } from '../../../gateway/config/read-gateway-file.ts'
import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import { readTextFile } from '../../../platform/diagnostics/yaml/read-text-file.ts'
import { readFolder } from '../../../policy-engine/load/policy-sources.ts'
import type { ParsedArguments } from '../../command.ts'
import { findFolders, noteShippedConfig } from '../../find-folders.ts'
import { readInput, type Terminal } from '../../terminal.ts'
import { problemToJson } from '../check/render-json.ts'
import { type FormatResult, formatPolicy } from './format-policy.ts'

const EXIT_DIFFERS = 1
const EXIT_INVALID = 3
const INPUT_LIMIT_BYTES = 262_144
const IS_POLICY = /(\.policy|_test)\.yaml$/

type Outcome = {
  readonly file: string
  readonly state: 'same' | 'changed' | 'would-change' | 'broken' | 'unwritable'
  readonly problems: readonly Diagnostic[]
  /** The reason why a file with valid content stays unchanged. */
  readonly reason?: string
}

export async function fmt(given: ParsedArguments, terminal: Terminal): Promise<number> {
  if (given.positionals.includes('-')) return fmtInput(terminal)
  const isCheck = given.has('check')
  const outcomes = findFiles(given, terminal).map((file) => fmtFile(file, isCheck))
  if (given.has('json'))
    terminal.out.write(`${JSON.stringify({ files: outcomes.map(outcomeToJson) }, undefined, 2)}\n`)
  else terminal.out.write(renderOutcomes(outcomes, terminal.colour))
  if (outcomes.some(({ state }) => state === 'broken')) return EXIT_INVALID
  return outcomes.some(({ state }) => state === 'would-change' || state === 'unwritable') ? EXIT_DIFFERS : 0
}

/** Writes the formatted standard input to standard output. For invalid input, writes nothing to standard output. */
async function fmtInput(terminal: Terminal): Promise<number> {
  const text = await readInput(terminal, INPUT_LIMIT_BYTES)
  if (text === undefined) {
    terminal.err.write(`scopegate fmt: standard input is longer than ${INPUT_LIMIT_BYTES} bytes\n`)
    return EXIT_INVALID
  }
  const result = formatPolicy(text.replace(/^\ufeff/, ''), 'standard input')
  if ('text' in result) {
    terminal.out.write(result.text)
    return 0
  }
  terminal.err.write(`${explain(result, 'standard input', terminal.colour)}\n`)
  return EXIT_INVALID
}

/**
 * Returns the files to format. Default: the policy folder. A file that the user names is formatted regardless of its
 * name.
 */
function findFiles(given: ParsedArguments, terminal: Terminal): readonly string[] {
  const paths = given.positionals.length > 0 ? given.positionals : policyFolders(given, terminal)
  return paths.flatMap((path) => {
    const file = resolve(terminal.folder, path)
    if (!existsSync(file) || !statSync(file).isDirectory()) return [file]
    const folder = readFolder(file)
    if ('code' in folder) return [join(file, folder.folder ?? '')]
    return folder.names.filter((name) => IS_POLICY.test(name)).map((name) => join(file, name))
  })
}

function policyFolders(given: ParsedArguments, terminal: Terminal): readonly string[] {
  const folders = findFolders(given, terminal)
  noteShippedConfig(folders, terminal)
  const { policies, policySources = [] } = readGatewayFile({
    configDir: folders.configDir,
    env: terminal.env,
  }).value
  return policies === undefined ? policySources.map(({ folder }) => folder) : [policies]
}

function fmtFile(file: string, isCheck: boolean): Outcome {
  const shownAs = displayPath(file)
  const read = readTextFile(file, { shownAs, letter: 'P' })
  if ('problem' in read) return { file: shownAs, state: 'broken', problems: [read.problem] }
  const result = formatPolicy(read.text, shownAs)
  if ('problems' in result) return { file: shownAs, state: 'broken', problems: result.problems }
  if ('lost' in result)
    return {
      file: shownAs,
      state: 'unwritable',
      problems: [],
      reason: `formatting would lose ${result.lost}`,
    }
  if (result.text === read.text) return { file: shownAs, state: 'same', problems: [] }
  if (isCheck) return { file: shownAs, state: 'would-change', problems: [] }
  try {
    replaceFile(file, result.text)
    return { file: shownAs, state: 'changed', problems: [] }
  } catch (error) {
    const reason = `the file cannot be written (${errorCode(error)})`
    return { file: shownAs, state: 'unwritable', problems: [], reason }
  }
}

/**
 * Replaces the file atomically, so that a gateway that watches the folder never reads a partial file. Keeps symbolic
 * links.
 */
function replaceFile(file: string, text: string): void {
  const real = realpathSync(file)
  const beside = join(dirname(real), `.${basename(real)}.${process.pid}`)
  try {
    writeFileSync(beside, text, { mode: statSync(real).mode, flag: 'wx' })
    renameSync(beside, real)
  } catch (error) {
    rmSync(beside, { force: true })
    throw error
  }
}

function outcomeToJson(outcome: Outcome): object {
  return { ...outcome, problems: outcome.problems.map(problemToJson) }
}

function renderOutcomes(outcomes: readonly Outcome[], colour: boolean): string {
  const lines = outcomes.flatMap((one) => {
    if (one.state === 'broken') return [`${formatDiagnostics(one.problems, { colour })}\n`]
    if (one.state === 'unwritable') return [`${one.file} is unchanged: ${one.reason}`]
    if (one.state === 'would-change') return [`${one.file} is not formatted`]
    return one.state === 'changed' ? [one.file] : []
  })
  const counts = new Map<Outcome['state'], number>()
  for (const { state } of outcomes) counts.set(state, (counts.get(state) ?? 0) + 1)
  const words = {
    changed: 'formatted',
    'would-change': 'to format',
    same: 'already formatted',
    broken: 'with errors (unchanged)',
    unwritable: 'not written',
  } as const
  const said = Object.entries(words).flatMap(([state, what]) => {
    const count = counts.get(state as Outcome['state']) ?? 0
    return count === 0 ? [] : [`${count} ${what}`]
  })
  return `${[...lines, said.length === 0 ? 'no policy files' : said.join(', ')].join('\n')}\n`
}

function explain(result: Exclude<FormatResult, { text: string }>, shownAs: string, colour: boolean): string {
  if ('lost' in result) return `${shownAs} is unchanged: formatting would lose ${result.lost}`
  return formatDiagnostics(result.problems, { colour })
}
