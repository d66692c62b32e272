import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { formatErrorBody } from '../../oauth/error-body.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import { decisionOf } from './decision-label.ts'
import { refusalReply } from './fixed-replies.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { RequestContext } from './request-context.ts'
import { type LocalReply, sendReply } from './send-reply.ts'

/** Answers that the gateway gives itself, and the connections that end with an answer. */
export type Responder = {
  readonly respond: (context: RequestContext, answer: LocalReply) => void
  readonly refuse: (context: RequestContext, refusal: Refusal) => void
  /** A defect of ours: that request alone fails, and nobody learns why but the log. */
  readonly fail500: (context: RequestContext, error: unknown) => void
  /** The same, of a request that has not even an id. */
  readonly fail500Early: (response: ServerResponse, error: unknown) => void
  /**
   * Whether the connection ends with the upstream's answer that is about to be sent; from then on nothing more is read
   * from it. RFC 9112 section 9.6.
   */
  readonly shouldClose: (context: RequestContext) => boolean
  /** Whether a request was sent behind one whose answer ends the connection: it is not looked at. */
  readonly isAfterFinalResponse: (request: IncomingMessage) => boolean
}

/** Makes what answers in the gateway's name. */
export function createResponder(
  options: Pick<PipelineOptions, 'draining' | 'report' | 'onBroken'>,
): Responder {
  const { draining } = options
  const ending = new WeakSet<Socket>()

  function send({ request, response, canonical }: RequestContext, answer: LocalReply, closes: boolean): void {
    const offersUpgrade = canonical?.headers.offersUpgrade === true
    const ended = sendReply(request, response, answer, { closes: closes || draining() || offersUpgrade })
    if (ended) ending.add(request.socket)
  }

  function refuse(context: RequestContext, refusal: Refusal): void {
    context.refusal = refusal
    // What a caller was allowed stays allowed, whatever becomes of the upstream.
    context.decision ??= decisionOf(refusal)
    send(context, refusalReply(context, refusal), isSuspicious(refusal))
  }

  /** Whoever fails to count or to log it does not keep the client from its answer. */
  function reportFailure(requestId: string, error: unknown): void {
    try {
      options.onBroken()
      options.report('request_failed', requestId, error)
    } catch {
      // There is nobody left to tell.
    }
  }

  return {
    respond: (context, answer) => send(context, answer, false),
    refuse,
    fail500(context, error) {
      reportFailure(context.requestId, error)
      const { response } = context
      if (!response.headersSent) refuse(context, { refused: 'internal_error' })
      else if (!response.writableEnded) response.destroy()
    },
    fail500Early(response, error) {
      reportFailure('-', error)
      response.writeHead(500, {
        'content-type': 'application/json',
        connection: 'close',
        'cache-control': 'no-store',
        'x-scopegate-error': '1',
      })
      response.end(
        formatErrorBody({ error: 'server_error', error_description: 'Something went wrong here.' }),
      )
    },
    shouldClose({ request, canonical }) {
      const ends = draining() || canonical?.headers.offersUpgrade === true || !isReceived(request, canonical)
      if (ends) ending.add(request.socket)
      return ends
    },
    isAfterFinalResponse: (request) => ending.has(request.socket),
  }
}

function isReceived(request: IncomingMessage, canonical: RequestContext['canonical']): boolean {
  return canonical?.headers.body === 'none' || request.complete
}

/** Two readers may see different ends of such a request: nothing more is read from its connection. */
function isSuspicious(refusal: Refusal): boolean {
  return refusal.refused === 'request_malformed' || refusal.refused === 'target_too_long'
}
