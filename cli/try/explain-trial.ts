import { type Explanation, explainDecision } from '../../gateway/routes/explain-decision.ts'
import type { Trial, TrialPolicies, TrialRequest } from './try-request.ts'

/** A trial with everything that it was made of. */
export type ExplainedTrial = Trial & {
  readonly trial: TrialRequest
  readonly explanation: Explanation | undefined
}

/** Says why it was decided so. Undefined where the request is not one, or its token was of no use at all. */
export function explainTrial(trial: TrialRequest, tried: Trial, policies: TrialPolicies): ExplainedTrial {
  const { request, caller } = tried
  const explanation = request === undefined ? undefined : explainDecision(request, caller, policies.compiled)
  return { ...tried, trial, explanation }
}
