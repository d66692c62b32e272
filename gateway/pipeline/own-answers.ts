import type { Representation } from '../documents/own-document.ts'
import type { Refusal } from '../refusal.ts'
import type { HeaderSource } from '../routes/find-header.ts'
import { isPreflight } from '../routes/is-preflight.ts'
import { CORS_HEADERS, preflightHeaders, readRequestedHeaders } from './cors-headers.ts'
import { refuse } from './refuse.ts'
import type { OwnAnswer } from './send-answer.ts'
import type { Served } from './served.ts'

const NOTHING: readonly string[] = []

/** What a client hears that is refused. */
export function refusalAnswer(served: Served, refusal: Refusal): OwnAnswer {
  const { requestId, resource, credential } = served
  const { status, headers, body } = refuse(refusal, {
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
      ...served.policyHeaders,
      ...served.rateHeaders,
      ...served.nonceHeaders,
      ...(served.route?.kind === 'authorization_server' ? NOTHING : CORS_HEADERS),
    ],
    body,
  }
}

/** Answers OPTIONS without a token: a preflight of a browser, or a question for the methods of a path. */
export function optionsAnswer(
  { requestId, policyHeaders, request, canonical }: Served,
  allow: readonly string[],
): OwnAnswer {
  const methods = allow.join(', ')
  const cors =
    canonical !== undefined && isPreflight(request.method ?? '', canonical.headers)
      ? preflightHeaders(methods, requestedHeaders(canonical.headers))
      : CORS_HEADERS
  return {
    status: 204,
    headers: ['allow', methods, 'x-request-id', requestId, ...policyHeaders, ...cors],
    body: undefined,
  }
}

function requestedHeaders(request: HeaderSource): readonly string[] {
  const value = request.header('access-control-request-headers')
  return typeof value === 'string' ? readRequestedHeaders(value) : NOTHING
}

/** Answers with a document of the gateway's own, or says that the client has it already. */
export function documentAnswer(
  { request, requestId, policyHeaders }: Served,
  document: Representation,
): OwnAnswer {
  const always = ['x-request-id', requestId, ...policyHeaders, ...CORS_HEADERS]
  const known = request.headers['if-none-match']
  if (known === undefined || !namesEtag(known, document.etag))
    return { status: 200, headers: [...document.headers, ...always], body: document.body }
  const kept = document.headers.flatMap((part, at, all) =>
    at % 2 === 0 && !part.startsWith('content-') ? [part, all[at + 1] as string] : [],
  )
  return { status: 304, headers: [...kept, ...always], body: undefined }
}

/** RFC 9110 section 13.1.2: weak comparison. */
function namesEtag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((one) => {
    const tag = one.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}
