import { http } from '../../platform/net/http.ts'
import type { CredentialHeaders } from '../../policy-engine/checks/proxy-keys.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { CompiledPolicies } from '../../policy-engine/decide/compile-policies.ts'
import {
  type Decision,
  type DecisionLimits,
  type DecisionRequest,
  decide,
  denied,
} from '../../policy-engine/decide/decide.ts'
import { applyMode } from '../../policy-engine/decide/mode.ts'
import type { Rejection, TokenFault } from '../../policy-engine/decide/rejection.ts'
import type { Mode } from '../../policy-engine/format/policy-test.ts'
import { canonicalRequest } from '../../policy-engine/match/canonical-request.ts'
import type { Resource, Resources } from '../../policy-engine/match/resources.ts'
import type { UpstreamsFile } from '../config/upstreams-file.ts'
import { type ErrorResponse, type ErrorResponseOptions, toErrorResponse } from '../pipeline/error-response.ts'
import type { JwtRules } from '../tokens/jwt/jwt-rules.ts'
import { type Claims, callerOfClaims, withDefaults } from './caller-of-claims.ts'

export type SimulatedRequest = {
  readonly method: string
  /** The request target: a path and an optional query. */
  readonly target: string
  /** Names and values, without `Authorization`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The claims of the token. Undefined: the request has no token. */
  readonly claims: Claims | undefined
  /** True: missing claims that every valid token needs get default values. */
  readonly isCompleted: boolean
  /** Undefined: each route is served. */
  readonly mode?: Mode | undefined
}

export type Simulation = {
  readonly decision: Decision
  /**
   * The error response of the gateway to the client. Undefined when the gateway forwards the request, or responds to
   * OPTIONS itself.
   */
  readonly response: ErrorResponse | undefined
  /** The response that an audit-only policy would cause with `enforce: on`. Undefined without an audit-only denial. */
  readonly would: ErrorResponse | undefined
  /** The resource that the token must name as its audience. */
  readonly resource: Resource
  /**
   * The claims, including default values. Undefined: the request has no token, or the simulation did not check the
   * token.
   */
  readonly claims: Claims | undefined
  readonly caller: Caller | undefined
  /** The reason why the token is not valid for any route. */
  readonly fault: TokenFault | undefined
  /** The canonical request. Undefined for a malformed request. */
  readonly request: DecisionRequest | undefined
}

export type SimulationPolicies = {
  readonly compiled: CompiledPolicies
  readonly resources: Resources
  /** The effective `limits` of the gateway. */
  readonly limits: DecisionLimits
  /** Returns the rules for JWTs of an issuer. Undefined when the configuration is unknown. */
  readonly jwtRulesOf?: (issuer: unknown) => JwtRules | undefined
  /** The headers with credentials of the gateway, by upstream. Undefined when the configuration is unknown. */
  readonly credentialHeaders?: CredentialHeaders
  /** The entries of the upstreams, by name. Undefined when the configuration is unknown. */
  readonly upstreams?: UpstreamsFile
  /** Whether the gateway serves its pages (`docs.enabled`). Default: true. */
  readonly servesPages?: boolean | undefined
}

/**
 * Methods that a simulated request can have. Node's parser rejects all other methods, and the server rejects CONNECT.
 */
const METHODS = new Set(http.METHODS.filter((method) => method !== 'CONNECT'))
/** A placeholder for the token. The claims are known, so the simulation validates no token. */
const SOME_TOKEN = 'Bearer token'

/**
 * Simulates a request: its canonical form, and the decision of `decide()`. Needs no socket and no issuer. Pure.
 * @throws {UnusableClaimsError} for claims that an issuer never sends.
 */
export function simulate(
  simulated: SimulatedRequest,
  policies: SimulationPolicies,
  nowSeconds: number,
): Simulation {
  const { method, target } = simulated
  const { compiled, resources, limits, servesPages } = policies
  const { origin, host } = new URL(resources.root.identifier)
  const rawHeaders = ['host', host, ...simulated.headers.flat()]
  if (simulated.claims !== undefined) rawHeaders.push('authorization', SOME_TOKEN)
  const canonical = METHODS.has(method)
    ? canonicalRequest(
        { method, url: target, rawHeaders, httpVersion: '1.1' },
        { origin, limitBytes: limits.targetBytes },
      )
    : ({
        rejected: 'request_malformed',
        detail: `The gateway does not support the method ${method}.`,
      } as const)
  if ('rejected' in canonical)
    return toSimulation(denied(canonical), resources.root, { ...NO_TOKEN, request: undefined })
  const request: DecisionRequest = { method, canonical, nowSeconds, limits, servesPages }
  let token: SimulatedToken = NO_TOKEN
  const callerOf = (resource: Resource): Caller | Rejection | undefined => {
    token = readToken(simulated, resource, policies, nowSeconds)
    return token.fault === undefined ? token.caller : { rejected: 'token_invalid', fault: token.fault }
  }
  const decided = decide(request, callerOf, compiled)
  const decision =
    simulated.mode === undefined ? decided : applyMode(decided, request, simulated.mode, compiled)
  const resource = decision.route?.resourceOf(canonical.path) ?? resources.of(canonical.path)
  return toSimulation(decision, resource, { ...token, request })
}

type SimulatedToken = Pick<Simulation, 'claims' | 'caller' | 'fault'>

const NO_TOKEN: SimulatedToken = { claims: undefined, caller: undefined, fault: undefined }

function readToken(
  { claims: given, isCompleted }: SimulatedRequest,
  resource: Resource,
  { compiled, jwtRulesOf }: SimulationPolicies,
  nowSeconds: number,
): SimulatedToken {
  if (given === undefined) return NO_TOKEN
  const claims = isCompleted ? withDefaults(given, resource, nowSeconds) : given
  const read = callerOfClaims(claims, {
    nowSeconds,
    issuers: resource.issuers,
    names: compiled.claimNames,
    // Completed claims use the standard names for every issuer.
    jwt: isCompleted ? undefined : jwtRulesOf?.(claims['iss']),
  })
  if ('problem' in read) throw new UnusableClaimsError(read.problem)
  return { claims, caller: undefined, fault: undefined, ...read }
}

function toSimulation(
  decision: Decision,
  resource: Resource,
  rest: SimulatedToken & Pick<Simulation, 'request'>,
): Simulation {
  const responseTo = (rejection: Rejection | undefined): ErrorResponse | undefined =>
    rejection && toErrorResponse(rejection, errorResponseOptions(resource, ''))
  const response = responseTo(decision.rejection)
  const would = responseTo(decision.auditOnlyDenial)
  return { decision, response, would, resource, ...rest }
}

/** Returns the data for the error responses to simulated requests to a resource. */
export function errorResponseOptions(resource: Resource, requestId: string): ErrorResponseOptions {
  return {
    requestId,
    resourceMetadata: resource.metadataUrl,
    tokenEndpoint: resource.tokenEndpoint,
    credential: 'bearer',
  }
}

/** Claims that an issuer never sends, e.g. a scope that is a number. */
export class UnusableClaimsError extends Error {
  readonly code = 'ERR_UNUSABLE_CLAIMS'
}
