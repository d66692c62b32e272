import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { RetryRule } from '../../policy-engine/format/retry-rule.ts'
import type { BodySource } from './request-body.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamFailureReason } from './upstream-failure.ts'

/** An allowed request, with everything that is needed to forward the request and its response. */
export type ForwardRequest = {
  readonly upstream: Upstream
  readonly method: string
  /** Path and query of the upstream request. The path includes the base path of the upstream. */
  readonly target: string
  /** Name, value, name, value. */
  readonly headers: string[]
  /** Source of the body; `undefined`: no body. */
  readonly body: BodySource | undefined
  readonly bodyLimitBytes: number
  /** Time to the first byte of the response. Progress of an upload extends this time. Milliseconds. */
  readonly timeoutMs: number
  /** Longest stall inside the response, caused by the upstream or by a client that does not read. Milliseconds. */
  readonly idleTimeoutMs: number
  /** If undefined, the gateway never retries the request. */
  readonly retries: RetryRule | undefined
  /**
   * Set for a WebSocket handshake. If the upstream accepts the handshake, this function takes the connection. Any other
   * response is forwarded as usual.
   */
  readonly onUpgrade: ((headers: IncomingHttpHeaders, socket: Duplex) => void) | undefined
  /** Open event streams. A drain ends these streams. */
  readonly eventStreams: Set<EndableResponse>
  /** Replaces the body of the response. If undefined, the gateway streams the response. */
  readonly rewriter: ResponseRewriter | undefined
  readonly response: ServerResponse
  /** Returns the rejection for the client, if the response of the upstream must not reach the client. */
  readonly rejectionOf: (status: number) => Rejection | undefined
  /** Converts the headers of the upstream into the headers for the client. */
  readonly shape: (status: number, headers: IncomingHttpHeaders) => readonly string[]
  /** Sends a local reply. Called at most once, and only before the head of the final response was sent. */
  readonly reject: (rejection: Rejection) => void
  /** Ends a response that is complete before the request body is complete. Handles the rest of the body. */
  readonly endEarly: (source: IncomingMessage, response: ServerResponse) => void
  /** Called when the exchange is over after an exception in the gateway's own code. */
  readonly onBroken: (error: unknown) => void
  /** Receives the error behind a failed attempt. */
  readonly onFailure: (error: unknown) => void
  readonly tickMs: () => number
}

/** Replaces the complete body of a response. The gateway sends nothing before the response of the upstream is complete. */
export type ResponseRewriter = {
  /** Largest body. Bytes. */
  readonly limitBytes: number
  /** @returns the body for the client, or undefined if the response must not reach the client. */
  readonly rewrite: (response: {
    readonly status: number
    readonly headers: IncomingHttpHeaders
    readonly body: Buffer
  }) => Buffer | undefined
  /** The rejection for a larger body, or for a response that must not reach the client. */
  readonly rejection: Rejection
}

/** A response that can be ended between two events without data loss. */
export type EndableResponse = { endStream(): void }

/** Outcome of a forwarded request, for logs and metrics. */
export type ForwardResult = {
  /** Status of the upstream response. The status is 0 until the upstream responds. */
  status: number
  /** Time from the first dispatch to the first byte of the response. Milliseconds. */
  durationMs: number
  failure: UpstreamFailureReason | undefined
  /** Error code of the HTTP client or the operating system. */
  failureCode: string | undefined
}
