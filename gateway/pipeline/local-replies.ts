import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { formatErrorBody } from '../../oauth/error-body.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import { decisionOf } from './decision-label.ts'
import { refusalAnswer } from './fixed-replies.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { Served } from './request-context.ts'
import { type OwnAnswer, sendAnswer } from './send-reply.ts'

/** Answers that the gateway gives itself, and the connections that end with an answer. */
export type Answerer = {
  readonly respond: (served: Served, answer: OwnAnswer) => void
  readonly refuse: (served: Served, refusal: Refusal) => void
  /** A defect of ours: that request alone fails, and nobody learns why but the log. */
  readonly broke: (served: Served, error: unknown) => void
  /** The same, of a request that has not even an id. */
  readonly brokeEarly: (response: ServerResponse, error: unknown) => void
  /**
   * Whether the connection ends with the upstream's answer that is about to be sent; from then on nothing more is read
   * from it. RFC 9112 section 9.6.
   */
  readonly endsConnection: (served: Served) => boolean
  /** Whether a request was sent behind one whose answer ends the connection: it is not looked at. */
  readonly comesTooLate: (request: IncomingMessage) => boolean
}

/** Makes what answers in the gateway's name. */
export function createAnswerer(options: Pick<PipelineOptions, 'draining' | 'report' | 'onBroken'>): Answerer {
  const { draining } = options
  const ending = new WeakSet<Socket>()

  function send({ request, response, canonical }: Served, answer: OwnAnswer, closes: boolean): void {
    const offersUpgrade = canonical?.headers.offersUpgrade === true
    const ended = sendAnswer(request, response, answer, { closes: closes || draining() || offersUpgrade })
    if (ended) ending.add(request.socket)
  }

  function refuse(served: Served, refusal: Refusal): void {
    served.refusal = refusal
    // What a caller was allowed stays allowed, whatever becomes of the upstream.
    served.decision ??= decisionOf(refusal)
    send(served, refusalAnswer(served, refusal), isSuspicious(refusal))
  }

  /** Whoever fails to count or to log it does not keep the client from its answer. */
  function tell(requestId: string, error: unknown): void {
    try {
      options.onBroken()
      options.report('request_failed', requestId, error)
    } catch {
      // There is nobody left to tell.
    }
  }

  return {
    respond: (served, answer) => send(served, answer, false),
    refuse,
    broke(served, error) {
      tell(served.requestId, error)
      const { response } = served
      if (!response.headersSent) refuse(served, { refused: 'internal_error' })
      else if (!response.writableEnded) response.destroy()
    },
    brokeEarly(response, error) {
      tell('-', error)
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
    endsConnection({ request, canonical }) {
      const ends = draining() || canonical?.headers.offersUpgrade === true || !isReceived(request, canonical)
      if (ends) ending.add(request.socket)
      return ends
    },
    comesTooLate: (request) => ending.has(request.socket),
  }
}

function isReceived(request: IncomingMessage, canonical: Served['canonical']): boolean {
  return canonical?.headers.body === 'none' || request.complete
}

/** Two readers may see different ends of such a request: nothing more is read from its connection. */
function isSuspicious(refusal: Refusal): boolean {
  return refusal.refused === 'request_malformed' || refusal.refused === 'target_too_long'
}
