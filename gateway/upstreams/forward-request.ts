import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import type { RetryRule } from '../../policy-engine/format/retry-rule.ts'
import type { Upstream } from './pool.ts'
import type { UpstreamFailureReason } from './upstream-failure.ts'

/** A request that is allowed, with all that its way to the upstream and back depends on. */
export type ForwardRequest = {
  readonly upstream: Upstream
  readonly method: string
  /** Canonical path and query. */
  readonly target: string
  /** Name, value, name, value. */
  readonly headers: string[]
  /** Where the body comes from; undefined when there is none. */
  readonly body: IncomingMessage | undefined
  readonly bodyLimitBytes: number
  /** From now to the first byte of the answer; a body that is still coming in extends it. Milliseconds. */
  readonly timeoutMs: number
  /** Longest silence inside the answer: of the upstream, or of a client that does not take what is there. Milliseconds. */
  readonly idleTimeoutMs: number
  /** undefined: the request is sent once, whatever happens. */
  readonly retries: RetryRule | undefined
  /** Asks for a WebSocket, and takes the connection when the upstream agrees; any other answer is one like all. */
  readonly onUpgrade: ((headers: IncomingHttpHeaders, socket: Duplex) => void) | undefined
  /** Where answers that go on for ever are kept, so that a drain can end them. */
  readonly eventStreams: Set<EndableResponse>
  readonly response: ServerResponse
  /** Turns the upstream's headers into the client's. */
  readonly shape: (status: number, headers: IncomingHttpHeaders) => readonly string[]
  /** Called once at most, when nothing was sent to the client yet. */
  readonly refuse: (refusal: Refusal) => void
  /** Ends an answer that is whole before the body is: the rest of the body has to go somewhere. */
  readonly endEarly: (source: IncomingMessage, response: ServerResponse) => void
  /** An exception of ours; nothing more comes of the request. */
  readonly onBroken: (error: unknown) => void
  /** The exact reason why the upstream gave no whole answer. */
  readonly onFailure: (error: unknown) => void
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
}

/** An answer that may be ended between two events without harm. */
export type EndableResponse = { endStream(): void }

/** What became of a forwarded request, for logs and metrics. */
export type ForwardResult = {
  /** Status of the upstream; 0 until it answered. */
  status: number
  /** From the first dispatch to the first byte of the answer. Milliseconds. */
  durationMs: number
  failure: UpstreamFailureReason | undefined
  /** The code of the error behind it: of the HTTP client, or of the system. */
  failureCode: string | undefined
}
