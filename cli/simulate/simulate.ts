import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import type { CanonicalRequest } from '../../gateway/pipeline/canonical-request.ts'
import { type ErrorResponse, toErrorResponse } from '../../gateway/pipeline/error-response.ts'
import { canonicalize } from '../../gateway/pipeline/stages/canonicalize.ts'
import { readToken } from '../../gateway/pipeline/stages/read-token.ts'
import type { JwtRules } from '../../gateway/tokens/jwt/jwt-rules.ts'
import { http } from '../../platform/net/http.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { CompiledPolicies } from '../../policy-engine/decide/compile-policies.ts'
import { type Decision, type DecisionRequest, decide } from '../../policy-engine/decide/decide.ts'
import type { Refusal, TokenFault } from '../../policy-engine/decide/refusal.ts'
import { isReservedPath } from '../../policy-engine/match/reserved-paths.ts'
import type { Resource } from '../../policy-engine/match/resource.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import { type Claims, callerOfClaims, withDefaults } from './caller-of-claims.ts'

export type SimulatedRequest = {
  readonly method: string
  /** The request target: a path, with a query if there is one. */
  readonly target: string
  /** Names and values, without `Authorization`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The claims of the token; undefined: no token is sent. */
  readonly claims: Claims | undefined
  /** True: missing claims that a token needs get default values. */
  readonly isCompleted: boolean
}

export type Simulation = {
  readonly decision: Decision
  /** The response to the client; undefined when the request is forwarded. */
  readonly answer: ErrorResponse | undefined
  /** The response if the policy were enforced; undefined when it is the same. */
  readonly would: ErrorResponse | undefined
  /** The resource that the token must name as its audience. */
  readonly resource: Resource
  /** The claims, including default values. */
  readonly claims: Claims | undefined
  readonly caller: Caller | undefined
  /** The reason why the token is not valid for any route. */
  readonly fault: TokenFault | undefined
  /** The canonical request; undefined when it is malformed. */
  readonly request: DecisionRequest | undefined
}

/** The limits that a decision depends on. */
export type SimulationLimits = Pick<GatewayConfig['limits'], 'targetBytes' | 'tokenBytes'>

export type SimulationPolicies = {
  readonly compiled: CompiledPolicies
  readonly resources: Resources
  /** The effective `limits` of the gateway. */
  readonly limits: SimulationLimits
  /** Returns the rules for JWTs of an issuer. Undefined when the configuration is unknown. */
  readonly jwtRulesOf?: (issuer: unknown) => JwtRules | undefined
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})
/** The decision for a path of Scopegate itself, which no policy decides. */
const OWN: Decision = Object.freeze({
  outcome: 'allow',
  as: 'gateway',
  route: undefined,
  params: NO_PARAMS,
  refusal: undefined,
  upstreamPath: undefined,
})
/** Node's parser rejects all other methods. The server rejects CONNECT. */
const METHODS = new Set(http.METHODS.filter((method) => method !== 'CONNECT'))
/** A placeholder: the claims are known, so the token itself is not validated. */
const SOME_TOKEN = 'Bearer token'

/**
 * Simulates the decision stages in the gateway's order, without a socket and without an issuer: canonical form, route,
 * token, access. Pure.
 * @throws {UnusableClaimsError} for claims that an issuer never sends.
 */
export function simulate(
  trial: SimulatedRequest,
  policies: SimulationPolicies,
  nowSeconds: number,
): Simulation {
  const { method, target, claims } = trial
  const { targetBytes, tokenBytes } = policies.limits
  const { origin, host } = new URL(policies.resources.root.identifier)
  const rawHeaders = ['host', host, ...trial.headers.flat()]
  if (claims !== undefined) rawHeaders.push('authorization', SOME_TOKEN)
  const canonical: CanonicalRequest | Refusal = METHODS.has(method)
    ? canonicalize({ method, target, rawHeaders, httpVersion: '1.1' }, { origin, limitBytes: targetBytes })
    : { refused: 'request_malformed', detail: `The gateway does not know the method ${method}.` }
  const answerWith = (refusal: Refusal | undefined, resource: Resource) =>
    refusal === undefined
      ? undefined
      : toErrorResponse(refusal, {
          requestId: '',
          resourceMetadata: resource.metadataUrl,
          tokenEndpoint: resource.tokenEndpoint,
          credential: 'bearer',
        })
  const noCaller = { claims: undefined, caller: undefined, fault: undefined }
  if ('refused' in canonical) {
    const resource = policies.resources.root
    return {
      decision: refuse(canonical),
      answer: answerWith(canonical, resource),
      would: undefined,
      resource,
      request: undefined,
      ...noCaller,
    }
  }
  const { path, query, headers } = canonical
  const request: DecisionRequest = {
    method,
    path,
    query,
    nowSeconds,
    targetLimitBytes: targetBytes,
    header: (name) => headers.header(name),
  }
  const met = isReservedPath(path) ? OWN : decide(request, undefined, policies.compiled)
  const resource = met.route?.resourceOf(path) ?? policies.resources.root
  const give = (decision: Decision, who: Pick<Simulation, 'claims' | 'caller' | 'fault'>): Simulation => {
    return {
      decision,
      answer: answerWith(decision.refusal, resource),
      would: answerWith(decision.reported, resource),
      resource,
      request,
      ...who,
    }
  }
  // No route matched, or the gateway responds itself, so the caller is irrelevant.
  if (met.route === undefined || met.as === 'gateway') return give(met, noCaller)
  const { authorization, authorizationCount, proof } = headers
  const credentials = readToken(
    { authorization, authorizationCount, proof, query },
    { tokenLimitBytes: tokenBytes },
  )
  if ('refused' in credentials) return give(refuse(credentials, met), noCaller)
  if (claims === undefined) return give(met, noCaller)

  const told = trial.isCompleted ? withDefaults(claims, resource, nowSeconds) : claims
  const read = callerOfClaims(told, {
    nowSeconds,
    names: policies.compiled.claimNames,
    // Completed claims use the standard names for every issuer.
    jwt: trial.isCompleted ? undefined : policies.jwtRulesOf?.(told['iss']),
  })
  if ('problem' in read) throw new UnusableClaimsError(read.problem)
  if ('fault' in read) {
    const refusal = { refused: 'token_invalid', fault: read.fault } as const
    return give(refuse(refusal, met), { claims: told, caller: undefined, fault: read.fault })
  }
  const { caller } = read
  return give(decide(request, caller, policies.compiled), { claims: told, caller, fault: undefined })
}

/** Claims that an issuer never sends, e.g. a scope that is a number. */
export class UnusableClaimsError extends Error {
  readonly code = 'ERR_UNUSABLE_CLAIMS'
}

function refuse(refusal: Refusal, met?: Decision): Decision {
  return {
    outcome: 'deny',
    as: undefined,
    route: met?.route,
    params: met?.params ?? NO_PARAMS,
    refusal,
    upstreamPath: undefined,
  }
}
