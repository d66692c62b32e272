import type { DecisionLimits } from '../../policy-engine/decide/decide.ts'
import type { Mode } from '../../policy-engine/format/policy-test.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import { decisionHeaders, explainSimulation } from '../simulate/explain-simulation.ts'
import { explanationJson } from '../simulate/explanation-json.ts'
import { type ExplanationRow, explainRows } from '../simulate/explanation-rows.ts'
import {
  InvalidRequestTextError,
  readClaims,
  readSimulatedRequest,
} from '../simulate/read-simulated-request.ts'
import { simulate, UnusableClaimsError } from '../simulate/simulate.ts'
import { snapshotPolicies } from '../simulate/snapshot-policies.ts'
import type { Snapshot } from '../snapshot/route.ts'

/** The fields of the form. Lists have one entry per line. */
export type ExplainForm = {
  readonly method: string
  readonly path: string
  readonly token: 'none' | 'valid'
  readonly scopes: string
  readonly claims: string
  readonly headers: string
  readonly mode: Mode | ''
}

export type ExplainResult =
  | { readonly problem: string }
  | {
      readonly rows: readonly ExplanationRow[]
      /** The headers that an ingress copies from the response of the decision endpoint. */
      readonly copied: readonly (readonly [name: string, value: string])[]
      /** The output of `scopegate explain --json`. */
      readonly explanation: ReturnType<typeof explanationJson>
    }

/** Explains a request with the active policies. The same functions as in `scopegate explain --url`. Sends nothing. */
export function explainForm(
  form: ExplainForm,
  parts: {
    readonly config: { readonly limits: DecisionLimits; readonly docs: { readonly enabled: boolean } }
    readonly resources: Resources
    readonly snapshot: () => Snapshot
  },
): ExplainResult {
  if (form.token === 'none' && `${form.scopes}${form.claims}`.trim() !== '')
    return { problem: 'A request without a token has no scopes and no claims: select a valid token.' }
  const nowSeconds = Math.floor(Date.now() / 1_000)
  try {
    const claims = form.token === 'none' ? undefined : readClaims([form.scopes.trim()], linesOf(form.claims))
    const request = readSimulatedRequest(
      {
        method: form.method,
        target: form.path,
        headers: linesOf(form.headers),
        mode: form.mode === '' ? undefined : form.mode,
      },
      { claims, isCompleted: true },
    )
    const policies = {
      compiled: snapshotPolicies(parts.snapshot()),
      resources: parts.resources,
      limits: parts.config.limits,
      servesPages: parts.config.docs.enabled,
    }
    const explained = explainSimulation(request, simulate(request, policies, nowSeconds), policies)
    return {
      rows: explainRows(explained, nowSeconds),
      copied: decisionHeaders(explained),
      explanation: explanationJson(explained, policies),
    }
  } catch (error) {
    if (error instanceof InvalidRequestTextError)
      return { problem: `${error.field === 'method' ? '' : `A ${error.field} `}${error.message}.` }
    if (error instanceof UnusableClaimsError)
      return { problem: `The claims are not valid in a token: ${error.message}.` }
    throw error
  }
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
