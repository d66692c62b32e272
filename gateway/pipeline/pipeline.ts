import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { isReported } from '../../policy-engine/decide/is-audit-only.ts'
import type { Proven } from '../../policy-engine/decide/possession-proof.ts'
import { decidePreflight, readPreflight } from '../../policy-engine/decide/preflight.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import { rewritePath } from '../../policy-engine/decide/rewrite-path.ts'
import { formatRateLimit, type RateLimit, type RateVerdict } from '../../policy-engine/format/rate-limit.ts'
import { ALLOWED, ALLOWED_ANONYMOUS } from '../observability/decision.ts'
import type { Tunnel } from '../server/upgraded-connection.ts'
import type { ApiRoute, AuthorizationServerRoute, EventsRoute, Snapshot } from '../snapshot/route.ts'
import { tokenKind } from '../tokens/cache/token-kind.ts'
import type { EndableAnswer } from '../upstreams/forward-request.ts'
import { misunderstood } from '../upstreams/websocket/misunderstood.ts'
import type { CanonicalRequest } from './canonical-request.ts'
import { createCertificateOf } from './client-certificate.ts'
import { corsOf, corsRuleOf, documentAnswer, optionsAnswer } from './fixed-replies.ts'
import { createAnswerer } from './local-replies.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import { createReceiver } from './receive-request.ts'
import { answerEvent } from './relay-event.ts'
import type { Served } from './request-context.ts'
import { createRequestBooks } from './request-tracker.ts'
import { requestValues } from './request-values.ts'
import { endBeforeBody } from './send-reply.ts'
import { canonicalise } from './stages/canonicalize.ts'
import { decide } from './stages/decide.ts'
import { limit, limitRate } from './stages/enforce-limits.ts'
import { forwardRequest } from './stages/forward.ts'
import { matchRoute } from './stages/match-route.ts'
import { readToken, schemeOf } from './stages/read-token.ts'
import { shapeRequest } from './stages/shape-request.ts'
import { shapeResponse } from './stages/shape-response.ts'
import { validateToken } from './stages/validate-token.ts'
import { enterSession, refuseHandshake, startSession, type WebsocketOpening } from './start-session.ts'
import { proveHolder } from './verify-possession.ts'

/** What answers every request of the public port. */
export type Pipeline = {
  /** Answers a request. `tunnel` is its connection when it asks for a WebSocket. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse, tunnel?: Tunnel): void
  readonly inFlight: number
  /** Ends the answers that would go on for ever: event streams. Their clients connect again, elsewhere. */
  endStreams(): void
}

/**
 * The life of a request: canonicalise, match, read token, validate, decide, limit, shape, forward, shape. The first
 * refusal ends it. This is the only place that knows the order.
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
  const holderRules = {
    proofs: options.proofs,
    certificateOf: createCertificateOf({ ...options.clientCertificates, ...options }),
    rules: canonicalRules,
    nowMs,
  }
  const receive = createReceiver(options)
  const { respond, refuse, broke, brokeEarly, endsConnection, comesTooLate } = createAnswerer(options)
  const books = createRequestBooks(options)
  const eventStreams = new Set<EndableAnswer>()

  function handle(request: IncomingMessage, response: ServerResponse, tunnel?: Tunnel): void {
    if (comesTooLate(request)) return
    let served: Served | undefined
    try {
      served = receive(request, response, tunnel)
      books.began(served)
      run(served)
    } catch (error) {
      if (served === undefined) brokeEarly(response, error)
      else broke(served, error)
    }
  }

  /** Goes on when somebody else has answered, unless whoever asked has left meanwhile. */
  function later<T>(served: Served, answer: Promise<T>, goOn: (answer: T) => void): void {
    answer.then(
      (known) => {
        if (served.response.destroyed) return
        try {
          goOn(known)
        } catch (error) {
          broke(served, error)
        }
      },
      (error) => broke(served, error),
    )
  }

  function run(served: Served) {
    const { request } = served
    const method = request.method ?? ''
    const canonical = canonicalise(
      { method, target: request.url ?? '', rawHeaders: request.rawHeaders, httpVersion: request.httpVersion },
      canonicalRules,
    )
    if ('refused' in canonical) return refuse(served, canonical)
    served.canonical = canonical
    // One at a time is served even then, so that nothing can shut the door for good.
    if (overload.refusing !== undefined && books.inFlight > 1) {
      options.onOverloaded(overload.refusing)
      return refuse(served, OVERLOADED)
    }

    const snapshot = options.snapshot()
    served.policyHeaders = snapshot.policyHeaders
    const matched = matchRoute(method, canonical.path, snapshot, canonical.headers)
    if ('refused' in matched) return refuse(served, matched)
    if (matched.kind === 'options') return answerOptions(served, canonical, snapshot, matched.allow)
    const { route } = matched
    served.route = route
    served.params = matched.params
    switch (route.kind) {
      case 'document':
        return respond(served, documentAnswer(served, route.document(request.headers.accept)))
      case 'authorization_server':
        if (canonical.headers.authorizationCount > 1) return refuse(served, AMBIGUOUS_CREDENTIALS)
        return send(served, route, canonical)
      case 'events':
        return receiveEvent(served, route, canonical)
      case 'api':
        if (readPreflight(method, canonical.headers) !== undefined)
          return answerOptions(served, canonical, snapshot)
        return runApi(served, route, canonical)
    }
  }

  /** `allow` lists the methods of the path; undefined: those of its routes. */
  function answerOptions(
    served: Served,
    canonical: CanonicalRequest,
    snapshot: Snapshot,
    allow?: readonly string[],
  ) {
    const preflight = readPreflight(served.request.method ?? '', canonical.headers)
    const routes = snapshot.routesAt(canonical.path)
    const methods = allow ?? [...routes.keys()]
    const decision = preflight && decidePreflight(preflight, routes, { methods, ruleOf: corsRuleOf })
    respond(served, optionsAnswer(served, methods, decision))
  }

  function runApi(served: Served, route: ApiRoute, canonical: CanonicalRequest) {
    served.resource = route.resourceOf(canonical.path)
    const { authorization, authorizationCount, proof } = canonical.headers
    const credentials = readToken(
      { authorization, authorizationCount, proof, query: canonical.query },
      tokenRules,
    )
    if ('refused' in credentials) {
      served.credential = schemeOf(authorization)
      return refuse(served, credentials)
    }
    if (credentials.kind === 'anonymous') return decideApi(served, route, canonical)

    served.token = credentials.token
    served.credential = credentials.kind
    const caller = validateToken(credentials.token, served.resource.issuers, {
      verdicts,
      wanted: route.claims,
      onFailure: ({ code }) => {
        served.failureCode = code
      },
    })
    if (!(caller instanceof Promise)) {
      options.tokenMeter.validated(tokenKind(credentials.token), 'hit', (tickMs() - served.startedMs) / 1_000)
      return validated(served, route, canonical, caller)
    }
    const counted = caller.then((answer) => {
      options.tokenMeter.validated(
        tokenKind(credentials.token),
        'miss',
        (tickMs() - served.startedMs) / 1_000,
      )
      return answer
    })
    later(served, counted, (answer) => validated(served, route, canonical, answer))
  }

  function validated(served: Served, route: ApiRoute, canonical: CanonicalRequest, answer: Caller | Refusal) {
    if ('refused' in answer) return refuse(served, answer)
    served.caller = answer
    if (answer.confirmation === undefined && served.credential === 'bearer')
      return decideApi(served, route, canonical)
    const proven = proveHolder(served, answer, holderRules)
    if (!(proven instanceof Promise)) return proved(served, route, canonical, proven)
    later(served, proven, (known) => proved(served, route, canonical, known))
  }

  function proved(served: Served, route: ApiRoute, canonical: CanonicalRequest, proven: Proven | Refusal) {
    if ('refused' in proven) return refuse(served, proven)
    served.proven = proven
    decideApi(served, route, canonical)
  }

  function decideApi(served: Served, route: ApiRoute, canonical: CanonicalRequest) {
    const { caller } = served
    const refusal = decideOn(served, caller, route, canonical)
    if (refusal !== undefined) {
      if (!isReported(refusal, route.policy.enforce)) return refuse(served, refusal)
      served.reported = refusal
    }
    served.decision = caller === undefined ? ALLOWED_ANONYMOUS : ALLOWED
    send(served, route, canonical)
  }

  function decideOn(
    { resource, proven, params }: Served,
    caller: Caller | undefined,
    route: ApiRoute,
    canonical: CanonicalRequest,
  ): Refusal | undefined {
    const values = route.access.when.length === 0 ? undefined : requestValues(params, canonical)
    return decide({ nowSeconds: nowMs() / 1_000, resource, proven, values }, caller, route.access)
  }

  function send(served: Served, route: ApiRoute | AuthorizationServerRoute, canonical: CanonicalRequest) {
    const tooMuch = limit(canonical.headers, route)
    if (tooMuch !== undefined) return refuse(served, tooMuch)
    if (route.kind !== 'api') return forwardTo(served, route, canonical, route.asks ?? canonical.path)
    const path =
      route.rewrite === undefined
        ? canonical.path
        : rewritePath(route.rewrite, served.params, {
            method: served.request.method ?? '',
            ...canonicalRules,
          })
    if (typeof path !== 'string') return refuse(served, path)
    if (route.rateLimit === undefined) return forwardTo(served, route, canonical, path)

    withinRate(served, route.rateLimit, () => forwardTo(served, route, canonical, path))
  }

  function receiveEvent(served: Served, route: EventsRoute, canonical: CanonicalRequest) {
    const tooMuch = limit(canonical.headers, route)
    if (tooMuch !== undefined) return refuse(served, tooMuch)
    withinRate(served, route.rateLimit, () =>
      later(served, answerEvent(served, route), (answer) =>
        'refused' in answer ? refuse(served, answer) : respond(served, answer),
      ),
    )
  }

  function withinRate(served: Served, rateLimit: RateLimit, goOn: () => void): void {
    const verdict = limitRate(served, rateLimit, options.rateLimiter)
    if (!(verdict instanceof Promise)) {
      if (isWithinRate(served, rateLimit, verdict)) goOn()
      return
    }
    later(served, verdict, (answer) => {
      if (isWithinRate(served, rateLimit, answer)) goOn()
    })
  }

  /** Tells the caller where it stands; one that asked too often hears nothing else. */
  function isWithinRate(served: Served, rateLimit: RateLimit, verdict: RateVerdict): boolean {
    served.rate = verdict
    served.rateHeaders = ['ratelimit-policy', rateLimit.policyField, 'ratelimit', formatRateLimit(verdict)]
    served.route?.meter.rateLimited(verdict.allowed ? 'allowed' : 'limited')
    if (verdict.allowed) return true
    served.decision = undefined
    const retryAfterSeconds = Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000))
    refuse(served, { refused: 'rate_limited', retryAfterSeconds })
    return false
  }

  function forwardTo(
    served: Served,
    route: ApiRoute | AuthorizationServerRoute,
    canonical: CanonicalRequest,
    path: string,
  ) {
    const { request, response, requestId } = served
    const { headers } = canonical
    const isApi = route.kind === 'api'
    const { upstream } = route
    let onUpgrade: ((answer: IncomingHttpHeaders, socket: Duplex) => void) | undefined
    if (isApi && route.websocket && served.tunnel !== undefined) {
      const { tunnel } = served
      const place = enterSession(served, tunnel, options.sessions)
      if ('refused' in place) return refuse(served, place)
      response.once('close', place.leave)
      onUpgrade = (answer, socket) => openSession(served, route, canonical, { tunnel, place, answer, socket })
    }
    served.forwarded = forwardRequest({
      upstream,
      method: request.method ?? '',
      target: upstream.basePath + path + canonical.query,
      headers: shapeRequest({
        headers,
        edit: isApi ? route.requestHeaders : undefined,
        caller: served.caller,
        assertion: isApi && served.caller !== undefined ? route.assert?.(served.caller, nowMs()) : undefined,
        forwardsCredentials: !isApi || route.forwardsCredentials,
        forwardsProof: !isApi,
        requestId,
        clientAddress: served.clientAddress,
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
          added: addedHeaders(served, isApi),
          ownsRateLimit: served.rate !== undefined,
          ownsCors: isApi,
          closes: endsConnection(served),
        }),
      refuse: (refusal) => refuse(served, refusal),
      endEarly: endBeforeBody,
      onBroken: (error) => broke(served, error),
      onFailure: (error) => options.upstreamFailed(route.upstream.name, requestId, error),
      tickMs,
    })
  }

  /** The upstream agrees: only now is the client told, and what it sends passed on. */
  function openSession(
    served: Served,
    route: ApiRoute,
    canonical: CanonicalRequest,
    opening: WebsocketOpening,
  ): void {
    const { response, caller, token } = served
    const { place, answer } = opening
    const refusal = refuseHandshake(served.request, opening)
    if (refusal !== undefined) {
      if (refusal.refused === 'upstream_broken') {
        route.upstream.meter.failed('protocol')
        const error = misunderstood()
        served.failureCode = error.code
        options.upstreamFailed(route.upstream.name, served.requestId, error)
      }
      refuse(served, refusal)
      return
    }
    response.off('close', place.leave)
    response.removeAllListeners('close')
    const headers = shapeResponse(answer, {
      requestId: served.requestId,
      edit: route.responseHeaders,
      added: [...served.policyHeaders, ...served.rateHeaders, ...served.nonceHeaders],
      ownsRateLimit: served.rate !== undefined,
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
        books.sessionEnded(served, end)
      },
    })
    books.becameSession(served)
    const mayStay = (now: Caller): boolean => {
      const refusal = decideOn(served, now, route, canonical)
      return refusal === undefined || isReported(refusal, route.policy.enforce)
    }
    const { issuers } = served.resource
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
      return books.inFlight
    },
  }
}

/** Twice as long as it takes to notice that there is less to do again. */
const OVERLOADED: Refusal = { refused: 'overloaded', retryAfterSeconds: 4 }

const AMBIGUOUS_CREDENTIALS: Refusal = {
  refused: 'credentials_ambiguous',
  detail: 'There must be one Authorization header.',
}

function addedHeaders(served: Served, isApi: boolean): readonly string[] {
  const { policyHeaders, rateHeaders, nonceHeaders } = served
  if (!isApi) return policyHeaders
  const cors = corsOf(served)
  if (rateHeaders.length + nonceHeaders.length + policyHeaders.length === 0) return cors
  return [...cors, ...policyHeaders, ...rateHeaders, ...nonceHeaders]
}
