import {
  describeRateLimit,
  formatAuthentication,
  formatScopeRule,
} from '../../policy-engine/decide/describe-rules.ts'
import type { Rejection, TokenFault } from '../../policy-engine/decide/rejection.ts'
import { abbreviateList } from '../observability/abbreviate-list.ts'
import { type AccessLogOptions, scopesOf } from '../observability/access-log.ts'
import type { DecisionRecord } from '../observability/decision-recorder.ts'
import { type ErrorResponse, toErrorResponse } from '../pipeline/error-response.ts'
import { type DecisionSummary, summarize } from './decision-summary.ts'

/** A decision in words. Plain data, because workers send it to the supervisor. */
export type DecisionDetail = DecisionSummary & {
  /** The request, in words. */
  readonly asked: string
  /** The rule that decided, in words. */
  readonly rule: string
  /** Location of the rule in a policy file; null without a route of a policy. */
  readonly place: { readonly file: string; readonly line: number; readonly column: number } | null
  /** Contact for questions about the policy. */
  readonly owner: string | null
  readonly policyHash: string | null
  /** The response of the gateway; null for a response of the upstream. For a report: the response that was not sent. */
  readonly response: Pick<ErrorResponse, 'status' | 'error' | 'description' | 'challenge'> | null
  readonly fix: { readonly client: string; readonly policyOwner: string }
  readonly granted: readonly string[]
  readonly hasToken: boolean
}

export function describeDecision(
  record: DecisionRecord,
  options: { readonly subject: AccessLogOptions['subject'] },
): DecisionDetail {
  const { entry, rejection, auditOnlyDenial, policy, resource, credential } = record
  const { caller } = entry
  const summary = summarize(record, options.subject)
  const shown = rejection ?? auditOnlyDenial
  const response =
    shown &&
    toErrorResponse(shown, {
      requestId: entry.requestId,
      resourceMetadata: resource?.metadataUrl ?? '',
      tokenEndpoint: resource?.tokenEndpoint,
      credential,
    })
  const words = shown === undefined ? allowedWords(record) : rejectionWords(shown, record)
  return {
    ...summary,
    asked: describeRequest(record, summary),
    rule: words.rule,
    place: policy === undefined ? null : (shown?.rejected === 'condition_failed' ? shown : policy).source,
    owner: policy?.owner ?? null,
    policyHash: /"policy\.hash":"([0-9a-f]+)"/.exec(entry.routeFields)?.[1] ?? null,
    response:
      response === undefined
        ? null
        : {
            status: response.status,
            error: response.error,
            description: response.description,
            ...(response.challenge === undefined ? {} : { challenge: response.challenge }),
          },
    fix: { client: words.client ?? response?.description ?? '', policyOwner: words.policyOwner },
    granted: (caller && scopesOf(caller.scopes)) ?? [],
    hasToken: caller !== undefined || shown?.rejected === 'token_invalid',
  }
}

function describeRequest({ entry }: DecisionRecord, { client, subject }: DecisionSummary): string {
  const { method, path, caller } = entry
  const asked =
    method === undefined ? 'Bytes that are not a valid request' : `${method} ${path ?? '(no valid path)'}`
  if (caller === undefined) return `${asked}, without a valid token.`
  const scopes = scopesOf(caller.scopes)?.join(' ') ?? 'none'
  return `${asked}, with a token of ${client === null ? 'an unnamed client' : `client ${client}`}${
    subject === null ? '' : ` for subject ${subject}`
  }. Scopes of the token: ${scopes}.`
}

/** `client`: default: the description in the response. */
type Words = { readonly rule: string; readonly client?: string; readonly policyOwner: string }

const NOTHING = 'Nothing.'
const NOT_POLICY = 'A policy does not decide this. '

function allowedWords({ entry, policy }: DecisionRecord): Words {
  const client = entry.errorType === 'client_closed' ? 'The client closed the connection too early.' : NOTHING
  if (policy === undefined)
    return { rule: 'No policy applies: the gateway serves this path itself.', client, policyOwner: NOTHING }
  const by =
    entry.caller === undefined
      ? `The route accepts requests without a token (anonymous: ${policy.anonymous}).`
      : policy.scopes === undefined
        ? 'The token is valid, and the route requires no scope.'
        : `The token is valid and has the required scopes (${formatScopeRule(policy.scopes)}).`
  const limits =
    entry.upstreamStatus >= 400 ? ` The upstream service sent the status ${entry.upstreamStatus}.` : ''
  return { rule: `The route allowed the request. ${by}${limits}`, client, policyOwner: NOTHING }
}

function nameOf(policy: DecisionRecord['policy']): string {
  return policy?.upstream === undefined ? '' : ` ${policy.upstream}`
}

/** Names the settings of the operator that can reject a valid token. */
function tokenSettings({ reason }: TokenFault): string {
  const key = JWT_KEYS[reason]
  return key === undefined
    ? 'If the issuer is correct, check `issuers` and `resources` in gateway.yaml.'
    : `If this is an access token of the issuer, check \`jwt.${key}\` of the issuer in gateway.yaml.`
}

const JWT_KEYS: Partial<Record<TokenFault['reason'], string>> = {
  wrong_type: 'type',
  wrong_algorithm: 'algorithms',
  unknown_key: 'keys',
}

function rejectionWords(rejection: Rejection, { entry, policy }: DecisionRecord): Words {
  const route = policy === undefined ? 'the route' : `the route ${policy.name}`
  switch (rejection.rejected) {
    case 'scope_missing':
      return {
        rule: `scopes: the token lacks ${rejection.missing.join(' ')}. The route requires ${
          policy?.scopes === undefined ? rejection.needed.join(' ') : formatScopeRule(policy.scopes)
        }.`,
        client: `Request a token with the scopes ${rejection.needed.join(' ')}, and send the request again.`,
        policyOwner: `If this token should be sufficient, change \`scopes\` of ${route}.`,
      }
    case 'token_missing':
      return {
        rule: `anonymous: ${rejection.anonymous}. The route requires a token, and the request has none.`,
        client: `Send an access token in the header Authorization${
          rejection.needed.length === 0 ? '' : `, with the scopes ${rejection.needed.join(' ')}`
        }.`,
        policyOwner: `If all clients may send this request, set \`anonymous: allow\` on ${route}.`,
      }
    case 'token_invalid': {
      const { fault } = rejection
      const audience =
        fault.reason === 'wrong_audience'
          ? ` The path belongs to the resource ${fault.expected}. The token is for ${abbreviateList(fault.actual).join(' ') || 'no resource'}.`
          : ''
      return {
        rule: `The token is not valid: ${fault.reason}.${audience}`,
        policyOwner: `${NOT_POLICY}The gateway validates each token, also on routes that need none. ${tokenSettings(fault)}`,
      }
    }
    case 'proof_invalid':
    case 'proof_nonce':
      return {
        rule: 'The DPoP proof of the request is not valid.',
        policyOwner: `${NOT_POLICY}The token is bound to a key, so each request needs a proof.`,
      }
    case 'authentication_insufficient':
      return {
        rule: `authentication: the route requires a sign-in with ${formatAuthentication(rejection.rule)}. The sign-in of the token is not sufficient.`,
        policyOwner: `If this sign-in should be sufficient, change \`authentication\` of ${route}.`,
      }
    case 'condition_failed':
      return {
        rule: `when: ${rejection.condition}. This condition is false for the claims of the token.`,
        client:
          'A new token with the same claims gets the same response. Ask the issuer for the required claim.',
        policyOwner: `If this caller should have access, change \`when\` of ${route}, or the claim at the issuer.`,
      }
    case 'rate_limited':
      return {
        rule: `The caller has used up the limit ${rejection.limit}${
          policy?.rateLimit === undefined
            ? ''
            : ` (rateLimit of the route: ${describeRateLimit(policy.rateLimit)})`
        }.`,
        client: `Wait ${rejection.retryAfterSeconds} s, and send fewer requests.`,
        policyOwner: `If the limit is too low, change \`rateLimit\` of ${route}, or the shared limit ${rejection.limit}.`,
      }
    case 'sessions_exhausted':
      return {
        rule: `The caller has reached the limit of ${rejection.limit} open WebSocket sessions.`,
        client: 'Close a WebSocket before you open another one.',
        policyOwner: `${NOT_POLICY}The operator can change \`websockets.sessionsPerCaller\` in gateway.yaml.`,
      }
    case 'route_unknown':
      return {
        rule:
          policy === undefined
            ? 'No policy has a route for this path.'
            : 'The route has no `upstream`, so only the decision endpoint serves it.',
        client: 'Check the path. Case and a slash at the end are significant.',
        policyOwner: 'If the path should exist, add a route to the policy file of its service.',
      }
    case 'method_not_allowed':
      return {
        rule: `No policy has a route for this method. The path allows ${rejection.allow.join(', ')}.`,
        policyOwner: `If the method should exist, add ${entry.method} to the \`methods\` of a route for this path.`,
      }
    case 'body_too_large':
      return {
        rule: `bodyLimit: the body is larger than ${rejection.limitBytes} bytes.`,
        client: 'Send a smaller body.',
        policyOwner: `If such bodies should be possible, increase \`bodyLimit\` of ${route}.`,
      }
    case 'policy_unavailable':
      return {
        rule: 'The path belongs to a policy source without valid policies.',
        client: 'Try again later.',
        policyOwner: 'Correct the policy source. The page Policies shows its errors.',
      }
    case 'mcp_headers_missing':
    case 'mcp_body_invalid':
    case 'mcp_headers_differ':
      return {
        rule: 'The request is not a valid MCP request for the routes of this path.',
        policyOwner: `${NOT_POLICY}The routes of the path require MCP.`,
      }
    case 'credentials_ambiguous':
      return {
        rule: 'The request has more than one credential, or a token in the query.',
        policyOwner: NOT_POLICY.trim(),
      }
    case 'request_malformed':
    case 'target_too_long':
    case 'headers_too_large':
    case 'request_timed_out':
    case 'body_timed_out':
      return {
        rule: 'The gateway cannot read the request, so it rejected the request before a decision.',
        policyOwner: `${NOT_POLICY}The operator can change \`limits\` in gateway.yaml.`,
      }
    case 'token_unverifiable':
      return {
        rule: 'The gateway cannot validate the token now, because the issuer or its keys are unavailable.',
        client: 'Try again. The token can be valid.',
        policyOwner: `${NOT_POLICY}The operator must check the issuer. The overview shows its state.`,
      }
    case 'overloaded':
      return {
        rule: 'The gateway is overloaded.',
        client: `Try again in ${rejection.retryAfterSeconds} s.`,
        policyOwner: `${NOT_POLICY}The operator must add processes or machines.`,
      }
    case 'upstream_unreachable':
    case 'upstream_broken':
    case 'upstream_timed_out':
    case 'upstream_ejected':
    case 'upstream_busy':
    case 'mcp_tools_unreadable':
      return {
        rule: `The gateway got no complete response from the upstream${nameOf(policy)}: ${rejection.rejected}.`,
        client: 'Try again later.',
        policyOwner: `${NOT_POLICY}The team of the upstream service must check the service.`,
      }
    case 'upstream_credentials_unavailable':
    case 'upstream_credentials_rejected':
      return {
        rule: `The gateway cannot authenticate at the upstream${nameOf(policy)}: ${rejection.rejected}.`,
        client: 'Try again later. The token of the client can be valid.',
        policyOwner: `${NOT_POLICY}The operator must check \`credentials\` of the upstream in upstreams.yaml.`,
      }
    case 'internal_error':
      return {
        rule: 'A defect of the gateway. The log contains the exception with this request ID.',
        client: 'Report the request ID.',
        policyOwner: NOT_POLICY.trim(),
      }
  }
}
