import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Representation } from '../documents/own-document.ts'
import type { Caller } from '../identity/caller.ts'
import type { TokenVerdicts } from '../identity/token-verdicts.ts'
import type { RateLimiter } from '../limits/open-rate-limiter.ts'
import { formatRateLimit, type RateLimit, type RateVerdict } from '../limits/rate-limit.ts'
import type { AccessLog } from '../observe/access-log.ts'
import { ALLOWED, ALLOWED_ANONYMOUS, type Decision } from '../observe/decision.ts'
import type { RouteMeter, TokenMeter } from '../observe/metrics.ts'
import type { Refusal } from '../refusal.ts'
import type { ApiRoute, AuthorizationServerRoute, Route, Snapshot } from '../routes/route.ts'
import type { Tunnel } from '../take-upgrade.ts'
import type { EndableAnswer, ForwardResult } from '../upstreams/forward.ts'
import { acceptsWebsocket, isWebsocketKey } from '../upstreams/websocket/handshake.ts'
import { type SessionEnd, WebsocketSession } from '../upstreams/websocket/session.ts'
import type { SessionPlace, WebsocketSessions } from '../upstreams/websocket/sessions.ts'
import { type CanonicalRequest, canonicalise } from './1-canonicalise.ts'
import { matchRoute } from './2-match-route.ts'
import { readToken } from './3-read-token.ts'
import { validateToken } from './4-validate-token.ts'
import { decide } from './5-decide.ts'
import { limit, limitRate } from './6-limit.ts'
import { shapeRequest } from './7-shape-request.ts'
import { forwardRequest } from './8-forward.ts'
import { shapeResponse } from './9-shape-response.ts'
import type { CleanHeaders } from './clean-headers.ts'
import { clientAddress, type ForwardedHeader } from './client-address.ts'
import { CORS_HEADERS, PREFLIGHT_HEADERS } from './cors-headers.ts'
import { plainAddress } from './plain-address.ts'
import { decisionOf, refuse } from './refuse.ts'
import { rewritePath } from './rewrite-path.ts'
import { endBeforeBody, sendAnswer } from './send-answer.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

export type PipelineOptions = {
  /** Read once per request: each request sees exactly one. */
  readonly snapshot: () => Snapshot
  readonly verdicts: TokenVerdicts
  readonly rateLimiter: Pick<RateLimiter, 'take'>
  /** The public address, without a trailing slash. */
  readonly baseUrl: string
  readonly resourceMetadata: string
  readonly tokenEndpoint: string | undefined
  readonly limits: { readonly targetBytes: number; readonly tokenBytes: number }
  readonly tokenMeter: TokenMeter
  /** Counts what meets no route. */
  readonly unmatchedMeter: RouteMeter
  readonly accessLog: AccessLog
  /** The exact reason of something that the client hears about in general words only. */
  readonly report: (event: string, requestId: string, error: unknown) => void
  readonly newRequestId: () => string
  /** Peers that are believed about the client's address and the request's id; undefined: none. */
  readonly trustedProxies: TrustedProxies | undefined
  readonly forwardedHeader: ForwardedHeader
  /** Wall clock. Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  /** Open WebSockets. */
  readonly sessions: WebsocketSessions
  /** While true, connections end with the answer that is being given. */
  readonly draining: () => boolean
}

export type Pipeline = {
  /** Answers a request. `tunnel` is its connection when it asks for a WebSocket. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse, tunnel?: Tunnel): void
  readonly inFlight: number
  /** Ends the answers that would go on for ever: event streams. Their clients connect again, elsewhere. */
  endStreams(): void
}

/** What is known about a request so far; the access log reads it when the response is closed. */
type Served = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly timeMs: number
  readonly startedMs: number
  readonly clientAddress: string
  /** The connection, when the client asks to turn it into a WebSocket. */
  readonly tunnel: Tunnel | undefined
  token: string | undefined
  canonical: CanonicalRequest | undefined
  route: Route | undefined
  /** What the parameters of the route's path met. */
  params: Readonly<Record<string, string>>
  caller: Caller | undefined
  decision: Decision | undefined
  /** Where the caller stands, on a route with a rate limit. */
  rate: RateVerdict | undefined
  /** What it is told about that: name, value, name, value. */
  rateHeaders: readonly string[]
  refusal: Refusal | undefined
  forwarded: ForwardResult | undefined
}

/** What a client that left before its answer is counted as. No such answer is ever sent. */
const CLIENT_CLOSED_STATUS = 499

const NOTHING: readonly string[] = []
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * The life of a request: canonicalise, match, read token, validate, decide, limit, shape, forward, shape. The first
 * refusal ends it. This is the only place that knows the order.
 */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { verdicts, nowMs, tickMs, draining, trustedProxies, forwardedHeader } = options
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
  // Connections that end with the answer that is being given: what was sent behind that request is not looked at.
  const ending = new WeakSet<Socket>()
  let inFlight = 0

  const eventStreams = new Set<EndableAnswer>()

  function handle(request: IncomingMessage, response: ServerResponse, tunnel?: Tunnel): void {
    if (ending.has(request.socket)) return
    const peer = plainAddress(request.socket.remoteAddress)
    const proxied = trustedProxies?.has(peer) === true
    const served: Served = {
      request,
      response,
      requestId: (proxied ? givenRequestId(request) : undefined) ?? options.newRequestId(),
      timeMs: nowMs(),
      startedMs: tickMs(),
      clientAddress: proxied ? addressBehind(peer, request) : peer,
      tunnel,
      token: undefined,
      canonical: undefined,
      route: undefined,
      params: NO_PARAMS,
      caller: undefined,
      decision: undefined,
      rate: undefined,
      rateHeaders: NOTHING,
      refusal: undefined,
      forwarded: undefined,
    }
    inFlight += 1
    response.on('close', () => finished(served))
    try {
      run(served)
    } catch (error) {
      broke(served, error)
    }
  }

  function addressBehind(peer: string, request: IncomingMessage): string {
    const value = request.headers[forwardedHeader]
    if (typeof value !== 'string' || trustedProxies === undefined) return peer
    return clientAddress(peer, value, { header: forwardedHeader, trusted: trustedProxies })
  }

  function run(served: Served) {
    const { request } = served
    const method = request.method ?? ''
    const canonical = canonicalise(
      { method, target: request.url ?? '', rawHeaders: request.rawHeaders, httpVersion: request.httpVersion },
      canonicalRules,
    )
    if ('refused' in canonical) return refuseRequest(served, canonical)
    served.canonical = canonical

    const matched = matchRoute(method, canonical.path, options.snapshot())
    if ('refused' in matched) return refuseRequest(served, matched)
    if (matched.kind === 'options') return answerOptions(served, matched.allow)
    const { route } = matched
    served.route = route
    served.params = matched.params
    switch (route.kind) {
      case 'document':
        return answerDocument(served, route.document(request.headers.accept))
      case 'authorization_server':
        if (canonical.headers.authorizationCount > 1) return refuseRequest(served, AMBIGUOUS_CREDENTIALS)
        return send(served, route, canonical)
      case 'api':
        return runApi(served, route, canonical)
    }
  }

  function runApi(served: Served, route: ApiRoute, canonical: CanonicalRequest) {
    const { request } = served
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined)
      return answerOptions(served, route.methods)
    const { authorization, authorizationCount } = canonical.headers
    const credentials = readToken({ authorization, authorizationCount, query: canonical.query }, tokenRules)
    if ('refused' in credentials) return refuseRequest(served, credentials)
    if (credentials.kind === 'anonymous') return decideApi(served, route, canonical)

    served.token = credentials.token
    const caller = validateToken(credentials.token, {
      verdicts,
      onFailure: (error) => options.report('introspection_failed', served.requestId, error),
    })
    if (!(caller instanceof Promise)) {
      options.tokenMeter.validated('hit', (tickMs() - served.startedMs) / 1_000)
      return validated(served, route, canonical, caller)
    }
    caller.then(
      (answer) => {
        options.tokenMeter.validated('miss', (tickMs() - served.startedMs) / 1_000)
        // Whoever asked may have left while the issuer was being asked.
        if (served.response.destroyed) return
        try {
          validated(served, route, canonical, answer)
        } catch (error) {
          broke(served, error)
        }
      },
      (error) => broke(served, error),
    )
  }

  function validated(served: Served, route: ApiRoute, canonical: CanonicalRequest, answer: Caller | Refusal) {
    if ('refused' in answer) return refuseRequest(served, answer)
    served.caller = answer
    decideApi(served, route, canonical)
  }

  function decideApi(served: Served, route: ApiRoute, canonical: CanonicalRequest) {
    const { caller } = served
    const refusal = decide({ nowSeconds: nowMs() / 1_000, audience: options.baseUrl }, caller, route.policy)
    if (refusal !== undefined) return refuseRequest(served, refusal)
    served.decision = caller === undefined ? ALLOWED_ANONYMOUS : ALLOWED
    send(served, route, canonical)
  }

  function send(served: Served, route: ApiRoute | AuthorizationServerRoute, canonical: CanonicalRequest) {
    const tooMuch = limit(canonical.headers, route)
    if (tooMuch !== undefined) return refuseRequest(served, tooMuch)
    if (route.kind !== 'api') return forwardTo(served, route, canonical, canonical.path)
    const path =
      route.rewrite === undefined
        ? canonical.path
        : rewritePath(route.rewrite, served.params, {
            method: served.request.method ?? '',
            ...canonicalRules,
          })
    if (typeof path !== 'string') return refuseRequest(served, path)
    if (route.rateLimit === undefined) return forwardTo(served, route, canonical, path)

    const { rateLimit } = route
    const verdict = limitRate(served, rateLimit, options.rateLimiter)
    if (!(verdict instanceof Promise)) {
      if (isWithinRate(served, rateLimit, verdict)) forwardTo(served, route, canonical, path)
      return
    }
    verdict.then((answer) => {
      if (served.response.destroyed) return
      try {
        if (isWithinRate(served, rateLimit, answer)) forwardTo(served, route, canonical, path)
      } catch (error) {
        broke(served, error)
      }
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
    refuseRequest(served, { refused: 'rate_limited', retryAfterSeconds })
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
      const place = enterSession(served, tunnel)
      if ('refused' in place) return refuseRequest(served, place)
      response.once('close', place.leave)
      onUpgrade = (answer, socket) => openSession({ served, route, tunnel, place, answer, socket })
    }
    served.forwarded = forwardRequest({
      upstream,
      method: request.method ?? '',
      target: upstream.basePath + path + canonical.query,
      headers: shapeRequest({
        headers,
        caller: served.caller,
        assertion: isApi && served.caller !== undefined ? route.assert?.(served.caller, nowMs()) : undefined,
        forwardsCredentials: !isApi || route.forwardsCredentials,
        requestId,
        clientAddress: served.clientAddress,
        fixedHeaders,
      }),
      body: headers.body === 'none' ? undefined : request,
      bodyLimitBytes: route.bodyLimitBytes,
      timeoutMs: route.timeoutMs,
      idleTimeoutMs: route.idleTimeoutMs,
      retries: isApi ? route.policy.retries : undefined,
      expectsContinue: headers.body !== 'none' && expectsContinue(request),
      onUpgrade,
      eventStreams,
      response,
      shape: (status, upstreamHeaders) =>
        shapeResponse(upstreamHeaders, {
          status,
          requestId,
          added: addedHeaders(served, isApi),
          ownsRateLimit: served.rate !== undefined,
          ownsCors: isApi,
          closes: endsConnection(served, headers),
        }),
      refuse: (refusal) => refuseRequest(served, refusal),
      endEarly: endBeforeBody,
      onFailure: (error) => options.report('upstream_failed', requestId, error),
      tickMs,
    })
  }

  function enterSession({ request, caller, clientAddress }: Served, tunnel: Tunnel) {
    if (tunnel.early || !isWebsocketKey(request.headers['sec-websocket-key'])) return NO_HANDSHAKE
    const who = caller === undefined ? undefined : (caller.subject ?? caller.clientId)
    return options.sessions.enter(who === undefined ? `address ${clientAddress}` : `subject ${who}`)
  }

  /** The upstream agrees: only now is the client told, and what it sends passed on. */
  function openSession(opening: {
    readonly served: Served
    readonly route: ApiRoute
    readonly tunnel: Tunnel
    readonly place: SessionPlace
    readonly answer: IncomingHttpHeaders
    readonly socket: Duplex
  }): void {
    const { served, route, tunnel, place, answer, socket } = opening
    const { request, response, requestId, token, caller } = served
    if (!acceptsWebsocket(answer, request.headers['sec-websocket-key'] ?? '') || tunnel.early) {
      socket.on('error', () => undefined).destroy()
      refuseRequest(served, tunnel.early ? NO_HANDSHAKE : { refused: 'upstream_broken' })
      return
    }
    response.off('close', place.leave)
    response.removeAllListeners('close')
    const client = tunnel.take()
    const headers = shapeResponse(answer, {
      requestId,
      added: served.rateHeaders,
      ownsRateLimit: served.rate !== undefined,
      ownsCors: true,
      closes: false,
      status: 101,
    })
    client.write(formatSwitch(headers), 'latin1')
    inFlight -= 1
    count(served, 101)
    const session = new WebsocketSession({
      client,
      upstream: socket,
      messageLimitBytes: route.bodyLimitBytes,
      idleTimeoutMs: route.idleTimeoutMs,
      onEnd: (end) => {
        place.leave()
        route.meter.sessionEnded(end.code)
        log(served, 101, end)
      },
    })
    const mayStay = (now: Caller): boolean =>
      decide({ nowSeconds: nowMs() / 1_000, audience: options.baseUrl }, now, route.policy) === undefined
    const identity = caller === undefined || token === undefined ? undefined : { token, caller, mayStay }
    place.opened({ session, identity })
  }

  function refuseRequest(served: Served, refusal: Refusal): void {
    served.refusal = refusal
    // What a caller was allowed stays allowed, whatever becomes of the upstream.
    served.decision ??= decisionOf(refusal)
    const answer = refuse(refusal, {
      requestId: served.requestId,
      resourceMetadata: options.resourceMetadata,
      tokenEndpoint: options.tokenEndpoint,
    })
    const headers = [
      'content-type',
      'application/json',
      'content-length',
      String(Buffer.byteLength(answer.body)),
      'cache-control',
      'no-store',
      'x-content-type-options',
      'nosniff',
      'x-request-id',
      served.requestId,
      'x-scopegate-error',
      '1',
      ...answer.headers,
      ...served.rateHeaders,
      ...(served.route?.kind === 'authorization_server' ? NOTHING : CORS_HEADERS),
    ]
    respond(served, answer.status, headers, answer.body, isSuspicious(refusal))
  }

  function answerOptions(served: Served, allow: readonly string[]): void {
    const methods = allow.join(', ')
    const headers = [
      'allow',
      methods,
      'access-control-allow-methods',
      methods,
      'x-request-id',
      served.requestId,
      ...PREFLIGHT_HEADERS,
      ...CORS_HEADERS,
    ]
    respond(served, 204, headers, undefined)
  }

  function answerDocument(served: Served, document: Representation) {
    const always = ['x-request-id', served.requestId, ...CORS_HEADERS]
    const known = served.request.headers['if-none-match']
    if (known !== undefined && namesEtag(known, document.etag)) {
      const kept = document.headers.flatMap((part, at, all) =>
        at % 2 === 0 && !part.startsWith('content-') ? [part, all[at + 1] as string] : [],
      )
      return respond(served, 304, [...kept, ...always], undefined)
    }
    respond(served, 200, [...document.headers, ...always], document.body)
  }

  function respond(
    served: Served,
    status: number,
    headers: readonly string[],
    body: string | undefined,
    closes = false,
  ): void {
    const { request, response } = served
    const offersUpgrade = served.canonical?.headers.offersUpgrade === true
    const answer = { status, headers, body }
    const ended = sendAnswer(request, response, answer, { closes: closes || draining() || offersUpgrade })
    if (ended) ending.add(request.socket)
  }

  /** RFC 9112 section 9.6: after an answer that says so, nothing more is read from the connection. */
  function endsConnection({ request }: Served, headers: CleanHeaders): boolean {
    const ends = draining() || headers.offersUpgrade || (headers.body !== 'none' && !request.complete)
    if (ends) ending.add(request.socket)
    return ends
  }

  /** A defect of ours: that request alone fails, and nobody learns why but the log. */
  function broke(served: Served, error: unknown): void {
    options.report('request_failed', served.requestId, error)
    if (served.response.headersSent) served.response.destroy()
    else refuseRequest(served, { refused: 'internal_error' })
  }

  function finished(served: Served): void {
    inFlight -= 1
    const { response } = served
    const status = response.headersSent ? response.statusCode : CLIENT_CLOSED_STATUS
    count(served, status)
    log(served, status, undefined)
  }

  function count({ request, route, decision, startedMs }: Served, status: number): void {
    const meter = route?.meter ?? options.unmatchedMeter
    meter.finished(request.method ?? '', status, (tickMs() - startedMs) / 1_000)
    if (decision !== undefined) meter.decided(decision)
  }

  function log(served: Served, status: number, session: SessionEnd | undefined): void {
    const { request, route, refusal, forwarded, decision } = served
    options.accessLog.add({
      timeMs: served.timeMs,
      requestId: served.requestId,
      method: request.method ?? '',
      path: served.canonical?.path,
      routeFields: route?.logFields ?? '',
      status,
      durationMs: tickMs() - served.startedMs,
      upstreamStatus: forwarded?.status ?? 0,
      upstreamMs: forwarded?.durationMs ?? 0,
      clientAddress: served.clientAddress,
      userAgent: served.canonical?.headers.userAgent,
      decision,
      caller: served.caller,
      rateLimitRemaining: served.rate?.remaining,
      scopesMissing: refusal?.refused === 'scope_missing' ? refusal.missing : NOTHING,
      session,
      errorType: session === undefined ? errorType(served) : undefined,
    })
  }

  return {
    handle,
    endStreams() {
      for (const stream of [...eventStreams]) stream.endStream()
    },
    get inFlight() {
      return inFlight
    },
  }
}

const AMBIGUOUS_CREDENTIALS: Refusal = {
  refused: 'credentials_ambiguous',
  detail: 'There must be one Authorization header.',
}

/** RFC 9110 section 10.1.1: HTTP/1.0 knows no interim answers. */
function expectsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,128}$/

/** The id that a trusted proxy gave the request; undefined when there is none, or none that fits into a log line. */
function givenRequestId(request: IncomingMessage): string | undefined {
  const value = request.headers['x-request-id']
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : undefined
}

function addedHeaders(served: Served, isApi: boolean): readonly string[] {
  if (!isApi) return NOTHING
  return served.rate === undefined ? CORS_HEADERS : [...CORS_HEADERS, ...served.rateHeaders]
}

const NO_HANDSHAKE: Refusal = {
  refused: 'request_malformed',
  detail: 'This is not the beginning of a WebSocket: RFC 6455 section 4.1.',
}

/** RFC 9110 section 15.2.2. A 101 has no body, whatever an upstream says. */
function formatSwitch(headers: readonly string[]): string {
  let head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n'
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (headers[at] !== 'content-length') head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}

/** Two readers may see different ends of such a request: nothing more is read from its connection. */
function isSuspicious(refusal: Refusal): boolean {
  return refusal.refused === 'request_malformed' || refusal.refused === 'target_too_long'
}

function errorType(served: Served): string | undefined {
  if (served.forwarded?.failure !== undefined) return `upstream_${served.forwarded.failure}`
  if (served.refusal !== undefined) return served.refusal.refused
  return served.response.writableFinished ? undefined : 'client_closed'
}

/** RFC 9110 section 13.1.2: weak comparison. */
function namesEtag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}
