import { explainSimulation } from '../../../gateway/simulate/explain-simulation.ts'
import { explanationJson } from '../../../gateway/simulate/explanation-json.ts'
import { simulate, UnusableClaimsError } from '../../../gateway/simulate/simulate.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { openSimulationPolicies } from '../../simulate/open-simulation-policies.ts'
import { readExplainRequest } from '../../simulate/read-explain-request.ts'
import { renderExplanation } from '../../simulate/render-explanation.ts'
import type { Terminal } from '../../terminal.ts'

const EXIT_DENIED = 1
const EXIT_INVALID = 3
export async function explain(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const request = await readExplainRequest(given, terminal)
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
