import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { formatErrorBody } from '../../oauth/error-body.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { decisionOf } from '../observability/decision.ts'
import { adaptDenial } from './decision-endpoint.ts'
import { rejectionReply } from './local-replies.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { RequestContext, Responder } from './request-context.ts'
import { isHttp2, type LocalReply, sendReply } from './send-reply.ts'

export function createResponder(
  options: Pick<PipelineOptions, 'draining' | 'report' | 'onBroken' | 'decisionProtocol'>,
): Responder {
  const { draining, decisionProtocol } = options
  const ending = new WeakSet<Socket>()

  function send({ request, response, canonical }: RequestContext, reply: LocalReply, closes: boolean): void {
    const ends = !isHttp2(request) && (closes || canonical?.headers.offersUpgrade === true)
    const ended = sendReply(request, response, reply, { closes: ends || draining() })
    if (ended) endConnection(request)
  }

  /** A later request on a connection of HTTP/1.1 follows the final response. */
  function endConnection(request: IncomingMessage): void {
    if (!isHttp2(request)) ending.add(request.socket)
  }

  function reject(context: RequestContext, rejection: Rejection): void {
    context.rejection = rejection
    // A failure of the upstream does not change an earlier decision to allow the request.
    context.decision ??= decisionOf(rejection)
    const reply = rejectionReply(context, rejection)
    const isAdapted = context.isDecision && decisionProtocol === 'auth-request'
    if (isAdapted) context.deniedStatus = reply.status
    send(context, isAdapted ? adaptDenial(reply) : reply, isSuspicious(rejection))
  }

  /** Counts and logs an exception. A failure in this function must not prevent the response. */
  function reportFailure(requestId: string, clientAddress: string | undefined, error: unknown): void {
    try {
      options.onBroken()
      options.report('request_failed', requestId, clientAddress, error)
    } catch {
      // Counting or logging failed, so the gateway cannot report this failure.
    }
  }

  return {
    respond(context, result) {
      if ('rejected' in result) reject(context, result)
      else send(context, result, false)
    },
    reject,
    fail500(context, error) {
      reportFailure(context.requestId, context.clientAddress, error)
      const { response } = context
      if (response.headersSent) {
        if (!response.writableEnded) response.destroy()
        return
      }
      try {
        reject(context, { rejected: 'internal_error' })
      } catch (failure) {
        // The caller has already handled one exception, so a further exception would end the process.
        reportFailure(context.requestId, context.clientAddress, failure)
        response.destroy()
      }
    },
    fail500Early(response, error) {
      reportFailure('-', response.socket?.remoteAddress, error)
      response.writeHead(500, {
        'content-type': 'application/json',
        connection: 'close',
        'cache-control': 'no-store',
        'x-scopegate-error': '1',
      })
      response.end(formatErrorBody({ error: 'server_error', error_description: 'Internal error.' }))
    },
    shouldClose({ request, canonical }) {
      const ends =
        draining() ||
        (!isHttp2(request) && (canonical?.headers.offersUpgrade === true || !isReceived(request, canonical)))
      if (ends) endConnection(request)
      return ends
    },
    isAfterFinalResponse: (request) => !isHttp2(request) && ending.has(request.socket),
  }
}

function isReceived(request: IncomingMessage, canonical: RequestContext['canonical']): boolean {
  return canonical?.headers.body === 'none' || request.complete
}

/** Returns whether two parsers may find different ends of the request. The gateway then closes the connection. */
function isSuspicious(rejection: Rejection): boolean {
  return rejection.rejected === 'request_malformed' || rejection.rejected === 'target_too_long'
}
