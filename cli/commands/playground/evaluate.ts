import { STATUS_CODES } from 'node:http'
import { join } from 'node:path'
import { formatRejection } from '../../../gateway/pipeline/error-response.ts'
import { type ExplainedSimulation, explainSimulation } from '../../../gateway/simulate/explain-simulation.ts'
import { errorResponseOptions, simulate, UnusableClaimsError } from '../../../gateway/simulate/simulate.ts'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import type { Diagnostic, Severity } from '../../../platform/diagnostics/diagnostic.ts'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import { MemoryFiles } from '../../memory-files.ts'
import { openPolicySet, type PolicySet } from '../../open-policy-set.ts'
import { readArguments } from '../../read-arguments.ts'
import { toSimulationPolicies } from '../../simulate/open-simulation-policies.ts'
import { readExplainRequest } from '../../simulate/read-explain-request.ts'
import { renderExplanation } from '../../simulate/render-explanation.ts'
import { reportOn } from '../check/inspect.ts'
import { summarise } from '../check/render-pretty.ts'
import { EXPLAIN } from '../explain/command.ts'
import { splitWords } from './split-words.ts'

export type PlaygroundFile = {
  /** Relative path, e.g. `policies/courses.policy.yaml`. */
  readonly name: string
  readonly text: string
}

/** The texts that a person edits. */
export type PlaygroundInput = {
  readonly files: readonly PlaygroundFile[]
  /** The arguments of `scopegate explain`. */
  readonly request: string
}

export type PlaygroundProblem = {
  readonly severity: Severity
  readonly code: string
  /** The message of `scopegate check`, with location, excerpt and hint. */
  readonly text: string
  readonly file: string
  readonly line: number | undefined
}

/** The results of `scopegate check` and `scopegate explain`. Plain data that threads can send to each other. */
export type Evaluation = {
  readonly summary: string
  readonly problems: readonly PlaygroundProblem[]
  readonly explained: ExplainedRequest
}

export type ExplainedRequest =
  | { readonly explanation: string; readonly response: string }
  /** The reason why the request is not explained. */
  | { readonly wrong: string }

/** The options of `scopegate explain` that the request can have. The other options select policies or a format. */
const REQUEST_OPTIONS = ['scope', 'claim', 'anonymous', 'header', 'mode']
const REQUEST = {
  name: EXPLAIN.name,
  positionals: { usage: 'METHOD PATH', min: 2, max: 2 },
  options: EXPLAIN.options.filter(({ name }) => REQUEST_OPTIONS.includes(name)),
}
const NO_INPUT = { input: (async function* () {})(), err: { write() {} } }

/** Checks the files and explains the request, without access to the file system and to the environment. */
export async function evaluate({ files, request }: PlaygroundInput, nowSeconds: number): Promise<Evaluation> {
  // Messages show paths relative to the working folder.
  const root = process.cwd()
  const memoryFiles = new MemoryFiles(new Map(files.map(({ name, text }) => [join(root, name), text])))
  const opened = await openPolicySet({ configDir: join(root, 'config'), memoryFiles })
  const report = await reportOn(opened, {})
  return {
    summary: summarise(report),
    problems: [...report.problems, ...report.notes].map(toProblem),
    explained:
      opened.set === undefined
        ? { wrong: 'Correct the errors in the files. Then this page explains the request.' }
        : await explainRequest(request, opened.set, nowSeconds),
  }
}

function toProblem(one: Diagnostic): PlaygroundProblem {
  const { severity, code, location } = one
  return { severity, code, text: formatDiagnostics([one]), file: location.file, line: location.line }
}

async function explainRequest(text: string, set: PolicySet, nowSeconds: number): Promise<ExplainedRequest> {
  const words = splitWords(text)
  if ('wrong' in words) return words
  const read = readArguments(REQUEST, withoutCommand(words.words))
  if ('wrong' in read) return read
  try {
    const simulated = await readExplainRequest(read.given, NO_INPUT)
    const policies = toSimulationPolicies(set)
    const explained = explainSimulation(simulated, simulate(simulated, policies, nowSeconds), policies)
    return {
      explanation: renderExplanation(explained, { colour: false, nowSeconds }),
      response: renderResponse(explained),
    }
  } catch (error) {
    if (error instanceof UnusableClaimsError)
      return { wrong: `the claims are not valid in a token: ${error.message}` }
    if (error instanceof BootError) return { wrong: error.message }
    throw error
  }
}

/** Accepts also a complete command line, so that a person can paste it. */
function withoutCommand(words: readonly string[]): readonly string[] {
  const start = words.indexOf(EXPLAIN.name)
  return start >= 0 && start <= 2 ? words.slice(start + 1) : words
}

/** Formats the complete response to the client. The real response also has the headers of every response. */
function renderResponse({ decision, resource }: ExplainedSimulation): string {
  const { rejection, as, route } = decision
  if (rejection !== undefined) {
    const { status, headers, body } = formatRejection(rejection, errorResponseOptions(resource, REQUEST_ID))
    const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []))
    return [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json',
      ...lines.map((line) => visibleText(line)),
      '',
      visibleText(body),
    ].join('\n')
  }
  if (as === 'gateway') return 'The gateway itself responds.'
  const upstream = route?.policy.upstream
  return upstream === undefined
    ? 'The decision endpoint returns 200.'
    : `The gateway forwards the request to ${upstream}, and the client gets the response of ${upstream}.`
}

/** Each real response has its own request ID. */
const REQUEST_ID = '00000000-0000-7000-8000-000000000000'
