import type { Mode } from '../../../policy-engine/format/policy-test.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { explainSimulation } from '../../simulate/explain-simulation.ts'
import { explanationJson } from '../../simulate/explanation-json.ts'
import { openSimulationPolicies } from '../../simulate/open-simulation-policies.ts'
import { readSimulationClaims } from '../../simulate/read-simulation-claims.ts'
import { renderExplanation } from '../../simulate/render-explanation.ts'
import { type SimulatedRequest, simulate, UnusableClaimsError } from '../../simulate/simulate.ts'
import type { Terminal } from '../../terminal.ts'

const EXIT_DENIED = 1
const EXIT_INVALID = 3
const METHOD = /^[A-Z]{1,20}$/
// RFC 9110 sections 5.1 and 5.5.
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\u00ff]*$/

export async function explain(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const request = await readRequest(given, terminal)
  const policies = await openSimulationPolicies('explain', given, terminal)
  if (policies === undefined) return EXIT_INVALID
  try {
    const explained = explainSimulation(request, simulate(request, policies, nowSeconds), policies)
    if (given.has('json'))
      terminal.out.write(`${JSON.stringify(explanationJson(explained, policies), undefined, 2)}\n`)
    else terminal.out.write(renderExplanation(explained, { colour: terminal.colour, nowSeconds }))
    return explained.response === undefined ? 0 : EXIT_DENIED
  } catch (error) {
    if (error instanceof UnusableClaimsError)
      throw usageError('explain', `the claims are not valid in a token: ${error.message}`)
    throw error
  }
}

async function readRequest(given: ParsedArguments, terminal: Terminal): Promise<SimulatedRequest> {
  const [typed = '', target = ''] = given.positionals
  // Methods are case-sensitive (RFC 9110 section 9.1), but the command line accepts any case.
  const method = typed.toUpperCase()
  if (!METHOD.test(method))
    throw usageError('explain', `"${typed}" is not an HTTP method; example: GET /api/courses`)
  const headers = given.texts('header').map((text) => {
    const [name, value] = splitPair(text, 'header')
    if (/^(authorization|dpop|host)$/i.test(name))
      throw usageError('explain', `--header ${name}: use --scope, --claim or --token - instead`)
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      throw usageError('explain', `--header ${JSON.stringify(text)} is not a valid request header`)
    return [name, value] as const
  })
  const { claims, isCompleted } = await readSimulationClaims(given, terminal)
  const mode = given.text('mode') as Mode | undefined
  return { method, target, headers, claims, isCompleted, mode }
}

function splitPair(text: string, option: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw usageError('explain', `--${option} takes NAME=VALUE, not "${text}"`)
  return [text.slice(0, at), text.slice(at + 1)]
}
