import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { OptionsSelection } from '../../policy-engine/decide/select-route.ts'
import { type CodedContent, chooseVariant } from '../discovery/content-coding.ts'
import type { Representation } from '../discovery/discovery-document.ts'
import type { Route } from '../snapshot/route.ts'
import { CORS_HEADERS, corsOf, preflightHeaders } from './cors-headers.ts'
import { formatRejection } from './error-response.ts'
import type { RequestContext } from './request-context.ts'
import type { LocalReply, TextReply } from './send-reply.ts'

const NOTHING: readonly string[] = []

export function rejectionReply(context: RequestContext, rejection: Rejection): TextReply {
  const { requestId, resource, credential } = context
  const { status, headers, body } = formatRejection(rejection, {
    requestId,
    resourceMetadata: resource.metadataUrl,
    tokenEndpoint: resource.tokenEndpoint,
    credential,
  })
  return {
    status,
    headers: [
      'content-type',
      'application/json',
      'content-length',
      String(Buffer.byteLength(body)),
      'cache-control',
      'no-store',
      'x-content-type-options',
      'nosniff',
      'x-request-id',
      requestId,
      'x-scopegate-error',
      '1',
      ...headers,
      ...context.policyHeaders,
      ...context.rateHeaders,
      ...context.nonceHeaders,
      ...(context.route?.kind === 'authorization_server' ? NOTHING : corsOf(context)),
    ],
    body,
  }
}

/** Returns the response to OPTIONS, which requires no token. */
export function optionsReply(
  { requestId, policyHeaders }: RequestContext,
  { allow, preflight }: OptionsSelection<Route>,
): LocalReply {
  const cors = preflight === undefined ? CORS_HEADERS : preflightHeaders(preflight.decision)
  return {
    status: 204,
    headers: ['allow', allow.join(', '), 'x-request-id', requestId, ...policyHeaders, ...cors],
    body: undefined,
  }
}

/**
 * Returns a document of the gateway, or 304 when the client has the current version. The result is a promise while the
 * gateway compresses the document for the first time.
 */
export function documentReply(
  { request, requestId, policyHeaders }: RequestContext,
  document: Representation,
): LocalReply | Promise<LocalReply> {
  const always = ['x-request-id', requestId, ...policyHeaders, ...CORS_HEADERS]
  const { 'if-none-match': known, 'accept-encoding': acceptEncoding } = request.headers
  const variant = chooseVariant(document, acceptEncoding?.toString())
  // Without 2xx, a condition has no effect. RFC 9110 section 13.2.1.
  if (known !== undefined && document.status === undefined && namesEtag(known, variant.etag))
    return { status: 304, headers: [...variant.headers, ...always], body: undefined }
  const toReply = ({ headers, body }: CodedContent): LocalReply => ({
    status: document.status ?? 200,
    headers: [...headers, ...always],
    body,
  })
  const content = variant.content()
  return content instanceof Promise ? content.then(toReply) : toReply(content)
}

/** Returns whether `If-None-Match` names an ETag, by weak comparison. RFC 9110 section 13.1.2. */
function namesEtag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}
