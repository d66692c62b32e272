import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import type { EventsRoute } from '../../snapshot/route.ts'
import type { EventOutcome } from '../../tokens/revocation/event-receiver.ts'
import { readBody } from '../read-body.ts'
import type { MatchedContext, RequestContext } from '../request-context.ts'
import { traced } from '../request-spans.ts'
import { type LocalReply, sendContinue } from '../send-reply.ts'

/** Deadline for the body. Even a slow connection transfers an 8 KiB token in this time. Milliseconds. */
const BODY_TIMEOUT_MS = 5_000
const RETRY_AFTER_SECONDS = '5'

/**
 * Reads a Security Event Token and replies with its outcome.
 * Source: RFC 8935 sections 2.1 to 2.4. Client input never makes the promise reject.
 * Reads `route`, `request`, `requestId` and `clientAddress`. Sets nothing.
 * @returns a promise of the local reply, or of the rejection `body_too_large` (413) or `body_timed_out` (408).
 */
export function receiveEvent(context: MatchedContext): Promise<LocalReply | Rejection> | undefined {
  const { route } = context
  return route.kind === 'events' ? receiveSecurityEvent(context, route) : undefined
}

async function receiveSecurityEvent(
  context: RequestContext,
  route: EventsRoute,
): Promise<LocalReply | Rejection> {
  const { request, response } = context
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/secevent+jwt')
    return toReply(context, {
      err: 'invalid_request',
      description: 'Send the event with the content type application/secevent+jwt.',
    })
  sendContinue(request, response)
  const body = await readBody(request, { limitBytes: route.bodyLimitBytes, timeoutMs: BODY_TIMEOUT_MS })
  if (body === 'too_large') return { rejected: 'body_too_large', limitBytes: route.bodyLimitBytes }
  if (body === 'too_slow') return { rejected: 'body_timed_out' }
  const event = body.bytes.toString('latin1')
  return toReply(context, await traced(context, () => route.receive(event, context)))
}

function toReply(
  { requestId, policyHeaders, rateHeaders }: RequestContext,
  outcome: EventOutcome,
): LocalReply {
  const headers = ['x-request-id', requestId, 'cache-control', 'no-store', ...policyHeaders, ...rateHeaders]
  if (outcome === 'taken')
    return { status: 202, headers: [...headers, 'content-length', '0'], body: undefined }
  headers.push('x-scopegate-error', '1')
  if (outcome === 'try_again')
    return {
      status: 503,
      headers: [...headers, 'retry-after', RETRY_AFTER_SECONDS, 'content-length', '0'],
      body: undefined,
    }
  const { err, description } = outcome
  const body = JSON.stringify({ err, description })
  headers.push('content-type', 'application/json', 'content-language', 'en')
  return { status: 400, headers: [...headers, 'content-length', String(Buffer.byteLength(body))], body }
}
