import type { IncomingMessage, ServerResponse } from 'node:http'
import { NO_POSSESSION_PROOF } from '../../policy-engine/decide/possession-proof.ts'
import { givenRequestId } from '../observability/request-id.ts'
import { clientAddress } from '../server/client-address.ts'
import { normalizeIp } from '../server/normalize-ip.ts'
import type { UpgradedConnection } from '../server/upgraded-connection.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { RequestContext } from './request-context.ts'

const NO_HEADERS: readonly string[] = []
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * Creates a function that starts the context of a request: time, request ID and client address. Request ID and address
 * come from the headers of the peer only if the peer is a trusted proxy.
 */
export function createReceiver(
  options: Pick<
    PipelineOptions,
    'rootResource' | 'trustedProxies' | 'forwardedHeader' | 'newRequestId' | 'nowMs' | 'tickMs'
  >,
): (
  request: IncomingMessage,
  response: ServerResponse,
  upgraded: UpgradedConnection | undefined,
) => RequestContext {
  const { rootResource, trustedProxies, forwardedHeader, newRequestId, nowMs, tickMs } = options

  function addressBehind(peer: string, request: IncomingMessage): string {
    const value = request.headers[forwardedHeader]
    if (typeof value !== 'string' || trustedProxies === undefined) return peer
    return clientAddress(peer, value, { header: forwardedHeader, trusted: trustedProxies })
  }

  return (request, response, upgraded) => {
    const peer = normalizeIp(request.socket.remoteAddress)
    const proxied = trustedProxies?.has(peer) === true
    return {
      request,
      response,
      requestId: (proxied ? givenRequestId(request) : undefined) ?? newRequestId(),
      timeMs: nowMs(),
      startedMs: tickMs(),
      clientAddress: proxied ? addressBehind(peer, request) : peer,
      upgraded,
      token: undefined,
      credential: 'bearer',
      possessionProof: NO_POSSESSION_PROOF,
      policyHeaders: NO_HEADERS,
      nonceHeaders: NO_HEADERS,
      canonical: undefined,
      route: undefined,
      resource: rootResource,
      params: NO_PARAMS,
      caller: undefined,
      decision: undefined,
      rate: undefined,
      rateHeaders: NO_HEADERS,
      refusal: undefined,
      failureCode: undefined,
      auditOnlyRefusal: undefined,
      forwarded: undefined,
      session: undefined,
    }
  }
}
