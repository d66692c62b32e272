import type { ErrorResponse } from '../pipeline/error-response.ts'
import { decisionHeaders, type ExplainedSimulation } from './explain-simulation.ts'
import { redactTarget } from './redact-target.ts'
import type { SimulationPolicies } from './simulate.ts'

/** Returns the output of `explain --json`. docs/command-line.md describes its members. */
export function explanationJson(explained: ExplainedSimulation, policies: SimulationPolicies) {
  const {
    decision,
    response,
    would,
    simulated,
    request,
    claims,
    caller,
    fault,
    explanation,
    resource,
    nearest,
    cors,
  } = explained
  const { route } = decision
  return {
    request: {
      method: simulated.method,
      target: redactTarget(simulated.target),
      path: request?.canonical.path ?? null,
    },
    decision: decision.outcome,
    as: decision.as ?? null,
    hash: policies.compiled.hash,
    resource: resource.identifier,
    route: route === undefined ? null : { ...route.policy },
    nearest:
      nearest === undefined ? null : { name: nearest.name, methods: nearest.methods, path: nearest.path },
    alsoSaw: (explanation?.alsoSaw ?? []).map(({ policy }) => ({
      name: policy.name,
      methods: policy.methods,
      path: policy.path,
      matchHeaders: policy.matchHeaders,
    })),
    params: decision.params,
    cors:
      cors === undefined
        ? null
        : {
            preflight: cors.isPreflight,
            origin: cors.origin ?? null,
            method: cors.method,
            allowed: cors.isAllowed && cors.deniedHeaders.length === 0,
            deniedHeaders: cors.deniedHeaders,
          },
    token:
      claims === undefined
        ? null
        : {
            held: (fault ?? explanation?.token?.fault) === undefined,
            fault: fault?.reason ?? explanation?.token?.fault?.reason ?? null,
            subject: caller?.subject ?? null,
            client: caller?.clientId ?? null,
            audience: caller?.audience ?? [],
            scopes: caller === undefined ? [] : [...caller.scopes],
            expiresAt: caller?.expiresAtSeconds ?? null,
          },
    authentication:
      explanation?.authentication === undefined
        ? null
        : { held: explanation.authentication.held, fault: explanation.authentication.fault ?? null },
    scopes: explanation?.scopes ?? null,
    conditions: (explanation?.conditions ?? []).map(({ condition, held, claim, operands }) => ({
      claim: condition.claim,
      test: condition.test,
      held,
      value: claim ?? null,
      operands: operands.map((operand) => operand ?? null),
    })),
    upstream:
      decision.upstreamPath === undefined || route?.policy.upstream === undefined
        ? null
        : {
            name: route.policy.upstream,
            path: decision.upstreamPath,
            credentialHeader: explained.credentialHeader ?? null,
            settings: explained.upstreamSettings ?? null,
          },
    mode: simulated.mode ?? null,
    headers: Object.fromEntries(decisionHeaders(explained)),
    answer: response === undefined ? null : responseJson(response),
    would: would === undefined ? null : responseJson(would),
  }
}

function responseJson({ status, error, description, challenge, allow }: ErrorResponse) {
  return { status, error, description, challenge: challenge ?? null, allow: allow ?? null }
}
