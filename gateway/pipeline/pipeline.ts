import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { rewritePath } from '../../policy-engine/decide/check-limits.ts'
import { isAuditOnly } from '../../policy-engine/decide/is-audit-only.ts'
import type { PossessionProof } from '../../policy-engine/decide/possession-proof.ts'
import { decidePreflight, readPreflight } from '../../policy-engine/decide/preflight.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import {
  formatRateLimit,
  type RateLimit,
  type RateLimitState,
} from '../../policy-engine/format/rate-limit.ts'
import { ALLOWED, ALLOWED_ANONYMOUS } from '../observability/decision.ts'
import type { UpgradedConnection } from '../server/upgraded-connection.ts'
import type { ApiRoute, AuthorizationServerRoute, EventsRoute, Snapshot } from '../snapshot/route.ts'
import { tokenKind } from '../tokens/cache/token-kind.ts'
import type { EndableResponse } from '../upstreams/forward-request.ts'
import { misunderstood } from '../upstreams/websocket/misunderstood.ts'
import type { CanonicalRequest } from './canonical-request.ts'
import { createCertificateReader } from './client-certificate.ts'
import { corsOf, corsRuleOf, documentReply, optionsReply } from './local-replies.ts'
import { enterSession, refuseHandshake, startSession, type WebsocketOpening } from './open-websocket.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import { createReceiver } from './receive-request.ts'
import type { RequestContext } from './request-context.ts'
import { createRequestTracker } from './request-tracker.ts'
import { requestValues } from './request-values.ts'
import { createResponder } from './responder.ts'
import { endBeforeBody } from './send-reply.ts'
import { shapeResponse } from './shape-response.ts'
import { canonicalize } from './stages/canonicalize.ts'
import { decide } from './stages/decide.ts'
import { enforceLimits, enforceRateLimit } from './stages/enforce-limits.ts'
import { forwardRequest } from './stages/forward.ts'
import { matchRoute } from './stages/match-route.ts'
import { readToken, schemeOf } from './stages/read-token.ts'
import { receiveSecurityEvent } from './stages/receive-event.ts'
import { shapeRequest } from './stages/shape-request.ts'
import { validateToken } from './stages/validate-token.ts'
import { verifyPossession } from './stages/verify-possession.ts'

export type Pipeline = {
  /** Handles a request. `upgraded` is its connection if it asks for a WebSocket. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse, upgraded?: UpgradedConnection): void
  readonly inFlight: number
  /** Ends open event streams, which have no natural end. Their clients reconnect to another process. */
  endStreams(): void
}

/**
 * Creates the request pipeline: canonicalize, match, read token, validate, decide, limit, shape request, forward, shape
 * response. The first refusal ends a request. Only this file defines the order of the stages.
 */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { verdicts, nowMs, tickMs, overload } = options
  const base = new URL(options.baseUrl)
  const canonicalRules = {
    origin: base.origin.toLowerCase(),
    limitBytes: options.limits.targetBytes,
  }
  const tokenRules = { tokenLimitBytes: options.limits.tokenBytes }
  const fixedHeaders = [
    'x-forwarded-host',
    base.host,
    'x-forwarded-proto',
    base.protocol.slice(0, -1),
    'via',
    '1.1 scopegate',
  ]
  const possessionRules = {
    proofs: options.proofs,
    certificateOf: createCertificateReader({ ...options.clientCertificates, ...options }),
    rules: canonicalRules,
    nowMs,
  }
  const receive = createReceiver(options)
  const { respond, refuse, fail500, fail500Early, shouldClose, isAfterFinalResponse } =
    createResponder(options)
  const tracker = createRequestTracker(options)
  const eventStreams = new Set<EndableResponse>()

  function handle(request: IncomingMessage, response: ServerResponse, upgraded?: UpgradedConnection): void {
    if (isAfterFinalResponse(request)) return
    let context: RequestContext | undefined
    try {
      context = receive(request, response, upgraded)
      tracker.start(context)
      run(context)
    } catch (error) {
      if (context === undefined) fail500Early(response, error)
      else fail500(context, error)
    }
  }

  /**
   * Calls `next` with the result of a promise, unless the client has closed the connection. Errors become a 500
   * response.
   */
  function resumeWith<T>(context: RequestContext, answer: Promise<T>, next: (answer: T) => void): void {
    answer.then(
      (known) => {
        if (context.response.destroyed) return
        try {
          next(known)
        } catch (error) {
          fail500(context, error)
        }
      },
      (error) => fail500(context, error),
    )
  }

  function run(context: RequestContext) {
    const { request } = context
    const method = request.method ?? ''
    const canonical = canonicalize(
      { method, target: request.url ?? '', rawHeaders: request.rawHeaders, httpVersion: request.httpVersion },
      canonicalRules,
    )
    if ('refused' in canonical) return refuse(context, canonical)
    context.canonical = canonical
    // During overload one request at a time passes. Otherwise the gateway could reject every request forever.
    if (overload.refusing !== undefined && tracker.inFlight > 1) {
      options.onOverloaded(overload.refusing)
      return refuse(context, OVERLOADED)
    }

    const snapshot = options.snapshot()
    context.policyHeaders = snapshot.policyHeaders
    const matched = matchRoute(method, canonical.path, snapshot, canonical.headers)
    if ('refused' in matched) return refuse(context, matched)
    if (matched.kind === 'options') return answerOptions(context, canonical, snapshot, matched.allow)
    const { route } = matched
    context.route = route
    context.params = matched.params
    switch (route.kind) {
      case 'document':
        return respond(context, documentReply(context, route.document(request.headers.accept)))
      case 'authorization_server':
        if (canonical.headers.authorizationCount > 1) return refuse(context, AMBIGUOUS_CREDENTIALS)
        return send(context, route, canonical)
      case 'events':
        return receiveEvent(context, route, canonical)
      case 'api':
        if (readPreflight(method, canonical.headers) !== undefined)
          return answerOptions(context, canonical, snapshot)
        return runApi(context, route, canonical)
    }
  }

  /** @param allow the methods of the path; undefined: the methods of its routes. */
  function answerOptions(
    context: RequestContext,
    canonical: CanonicalRequest,
    snapshot: Snapshot,
    allow?: readonly string[],
  ) {
    const preflight = readPreflight(context.request.method ?? '', canonical.headers)
    const routes = snapshot.routesAt(canonical.path)
    const methods = allow ?? [...routes.keys()]
    const decision = preflight && decidePreflight(preflight, routes, { methods, ruleOf: corsRuleOf })
    respond(context, optionsReply(context, methods, decision))
  }

  function runApi(context: RequestContext, route: ApiRoute, canonical: CanonicalRequest) {
    context.resource = route.resourceOf(canonical.path)
    const { authorization, authorizationCount, proof } = canonical.headers
    const credentials = readToken(
      { authorization, authorizationCount, proof, query: canonical.query },
      tokenRules,
    )
    if ('refused' in credentials) {
      context.credential = schemeOf(authorization)
      return refuse(context, credentials)
    }
    if (credentials.kind === 'anonymous') return decideApi(context, route, canonical)

    context.token = credentials.token
    context.credential = credentials.kind
    const caller = validateToken(credentials.token, context.resource.issuers, {
      verdicts,
      wanted: route.claims,
      onFailure: ({ code }) => {
        context.failureCode = code
      },
    })
    if (!(caller instanceof Promise)) {
      options.tokenMeter.validated(
        tokenKind(credentials.token),
        'hit',
        (tickMs() - context.startedMs) / 1_000,
      )
      return validated(context, route, canonical, caller)
    }
    const counted = caller.then((answer) => {
      options.tokenMeter.validated(
        tokenKind(credentials.token),
        'miss',
        (tickMs() - context.startedMs) / 1_000,
      )
      return answer
    })
    resumeWith(context, counted, (answer) => validated(context, route, canonical, answer))
  }

  function validated(
    context: RequestContext,
    route: ApiRoute,
    canonical: CanonicalRequest,
    answer: Caller | Refusal,
  ) {
    if ('refused' in answer) return refuse(context, answer)
    context.caller = answer
    if (answer.confirmation === undefined && context.credential === 'bearer')
      return decideApi(context, route, canonical)
    const possessionProof = verifyPossession(context, answer, possessionRules)
    if (!(possessionProof instanceof Promise))
      return withPossession(context, route, canonical, possessionProof)
    resumeWith(context, possessionProof, (known) => withPossession(context, route, canonical, known))
  }

  function withPossession(
    context: RequestContext,
    route: ApiRoute,
    canonical: CanonicalRequest,
    possessionProof: PossessionProof | Refusal,
  ) {
    if ('refused' in possessionProof) return refuse(context, possessionProof)
    context.possessionProof = possessionProof
    decideApi(context, route, canonical)
  }

  function decideApi(context: RequestContext, route: ApiRoute, canonical: CanonicalRequest) {
    const { caller } = context
    const refusal = decideOn(context, caller, route, canonical)
    if (refusal !== undefined) {
      if (!isAuditOnly(refusal, route.policy.enforce)) return refuse(context, refusal)
      context.auditOnlyRefusal = refusal
    }
    context.decision = caller === undefined ? ALLOWED_ANONYMOUS : ALLOWED
    send(context, route, canonical)
  }

  function decideOn(
    { resource, possessionProof, params }: RequestContext,
    caller: Caller | undefined,
    route: ApiRoute,
    canonical: CanonicalRequest,
  ): Refusal | undefined {
    const values = route.access.when.length === 0 ? undefined : requestValues(params, canonical)
    return decide({ nowSeconds: nowMs() / 1_000, resource, possessionProof, values }, caller, route.access)
  }

  function send(
    context: RequestContext,
    route: ApiRoute | AuthorizationServerRoute,
    canonical: CanonicalRequest,
  ) {
    const overLimit = enforceLimits(canonical.headers, route)
    if (overLimit !== undefined) return refuse(context, overLimit)
    if (route.kind !== 'api') return forwardTo(context, route, canonical, route.asks ?? canonical.path)
    const path =
      route.rewrite === undefined
        ? canonical.path
        : rewritePath(route.rewrite, context.params, {
            method: context.request.method ?? '',
            ...canonicalRules,
          })
    if (typeof path !== 'string') return refuse(context, path)
    if (route.rateLimit === undefined) return forwardTo(context, route, canonical, path)

    withinRate(context, route.rateLimit, () => forwardTo(context, route, canonical, path))
  }

  function receiveEvent(context: RequestContext, route: EventsRoute, canonical: CanonicalRequest) {
    const overLimit = enforceLimits(canonical.headers, route)
    if (overLimit !== undefined) return refuse(context, overLimit)
    withinRate(context, route.rateLimit, () =>
      resumeWith(context, receiveSecurityEvent(context, route), (answer) =>
        'refused' in answer ? refuse(context, answer) : respond(context, answer),
      ),
    )
  }

  function withinRate(context: RequestContext, rateLimit: RateLimit, next: () => void): void {
    const verdict = enforceRateLimit(context, rateLimit, options.rateLimiter)
    if (!(verdict instanceof Promise)) {
      if (isWithinRate(context, rateLimit, verdict)) next()
      return
    }
    resumeWith(context, verdict, (answer) => {
      if (isWithinRate(context, rateLimit, answer)) next()
    })
  }

  /** Sets the rate limit headers of the response, and sends a 429 response to a caller above the limit. */
  function isWithinRate(context: RequestContext, rateLimit: RateLimit, verdict: RateLimitState): boolean {
    context.rate = verdict
    context.rateHeaders = ['ratelimit-policy', rateLimit.policyField, 'ratelimit', formatRateLimit(verdict)]
    context.route?.meter.rateLimited(verdict.allowed ? 'allowed' : 'limited')
    if (verdict.allowed) return true
    context.decision = undefined
    const retryAfterSeconds = Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000))
    refuse(context, { refused: 'rate_limited', retryAfterSeconds })
    return false
  }

  function forwardTo(
    context: RequestContext,
    route: ApiRoute | AuthorizationServerRoute,
    canonical: CanonicalRequest,
    path: string,
  ) {
    const { request, response, requestId } = context
    const { headers } = canonical
    const isApi = route.kind === 'api'
    const { upstream } = route
    let onUpgrade: ((answer: IncomingHttpHeaders, socket: Duplex) => void) | undefined
    if (isApi && route.websocket && context.upgraded !== undefined) {
      const { upgraded } = context
      const place = enterSession(context, upgraded, options.sessions)
      if ('refused' in place) return refuse(context, place)
      response.once('close', place.leave)
      onUpgrade = (answer, socket) =>
        openSession(context, route, canonical, { upgraded, place, answer, socket })
    }
    context.forwarded = forwardRequest({
      upstream,
      method: request.method ?? '',
      target: upstream.basePath + path + canonical.query,
      headers: shapeRequest({
        headers,
        edit: isApi ? route.requestHeaders : undefined,
        caller: context.caller,
        assertion:
          isApi && context.caller !== undefined ? route.assert?.(context.caller, nowMs()) : undefined,
        forwardsCredentials: !isApi || route.forwardsCredentials,
        forwardsProof: !isApi,
        requestId,
        clientAddress: context.clientAddress,
        fixedHeaders,
      }),
      body: headers.body === 'none' ? undefined : request,
      bodyLimitBytes: route.bodyLimitBytes,
      timeoutMs: route.timeoutMs,
      idleTimeoutMs: route.idleTimeoutMs,
      retries: isApi ? route.policy.retries : undefined,
      onUpgrade,
      eventStreams,
      response,
      shape: (status, upstreamHeaders) =>
        shapeResponse(upstreamHeaders, {
          status,
          requestId,
          edit: isApi ? route.responseHeaders : undefined,
          added: addedHeaders(context, isApi),
          ownsRateLimit: context.rate !== undefined,
          ownsCors: isApi,
          closes: shouldClose(context),
        }),
      refuse: (refusal) => refuse(context, refusal),
      endEarly: endBeforeBody,
      onBroken: (error) => fail500(context, error),
      onFailure: (error) => options.upstreamFailed(route.upstream.name, requestId, error),
      tickMs,
    })
  }

  /** Switches the client connection to WebSocket after the upstream has accepted the handshake. */
  function openSession(
    context: RequestContext,
    route: ApiRoute,
    canonical: CanonicalRequest,
    opening: WebsocketOpening,
  ): void {
    const { response, caller, token } = context
    const { place, answer } = opening
    const refusal = refuseHandshake(context.request, opening)
    if (refusal !== undefined) {
      if (refusal.refused === 'upstream_broken') {
        route.upstream.meter.failed('protocol')
        const error = misunderstood()
        context.failureCode = error.code
        options.upstreamFailed(route.upstream.name, context.requestId, error)
      }
      refuse(context, refusal)
      return
    }
    response.off('close', place.leave)
    response.removeAllListeners('close')
    const headers = shapeResponse(answer, {
      requestId: context.requestId,
      edit: route.responseHeaders,
      added: [...context.policyHeaders, ...context.rateHeaders, ...context.nonceHeaders],
      ownsRateLimit: context.rate !== undefined,
      ownsCors: true,
      closes: false,
      status: 101,
    })
    const session = startSession(opening, {
      headers,
      route,
      onEnd: (end) => {
        place.leave()
        route.meter.sessionEnded(end.code)
        tracker.sessionEnded(context, end)
      },
    })
    tracker.becameSession(context)
    const mayStay = (now: Caller): boolean => {
      const refusal = decideOn(context, now, route, canonical)
      return refusal === undefined || isAuditOnly(refusal, route.policy.enforce)
    }
    const { issuers } = context.resource
    const identity =
      caller === undefined || token === undefined
        ? undefined
        : { token, issuers, wanted: route.claims, caller, mayStay }
    place.opened({ session, identity })
  }

  return {
    handle,
    endStreams() {
      for (const stream of [...eventStreams]) stream.endStream()
    },
    get inFlight() {
      return tracker.inFlight
    },
  }
}

/** Twice the time that the overload monitor needs to detect recovery. */
const OVERLOADED: Refusal = { refused: 'overloaded', retryAfterSeconds: 4 }

const AMBIGUOUS_CREDENTIALS: Refusal = {
  refused: 'credentials_ambiguous',
  detail: 'There must be one Authorization header.',
}

function addedHeaders(context: RequestContext, isApi: boolean): readonly string[] {
  const { policyHeaders, rateHeaders, nonceHeaders } = context
  if (!isApi) return policyHeaders
  const cors = corsOf(context)
  if (rateHeaders.length + nonceHeaders.length + policyHeaders.length === 0) return cors
  return [...cors, ...policyHeaders, ...rateHeaders, ...nonceHeaders]
}
