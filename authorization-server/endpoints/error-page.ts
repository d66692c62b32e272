import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { recordOutcome } from '../observe/access-log.ts'
import type { Look } from '../pages/look.ts'
import { localeOf, pageHeaders, sendPage } from '../pages/page-reply.ts'
import { renderErrorPage } from '../pages/render-error-page.ts'
import { type OAuthErrorResponse, sendErrorResponse } from './oauth-error-response.ts'

export type Presentation = { readonly serviceName: string; readonly look: Look }

/**
 * Returns the error page for a browser when the server cannot redirect to the client. Sets the page headers on
 * `response`.
 */
export function errorPage(
  error: { readonly error: string; readonly description: string },
  response: ServerResponse,
  { serviceName, look }: Presentation,
): string {
  const { headers, url = '' } = response.req
  const locale = localeOf({ headers, url })
  for (const [name, value] of Object.entries(pageHeaders([], locale, look))) response.setHeader(name, value)
  const requestId = response.getHeader('x-request-id')
  return renderErrorPage({
    ...error,
    locale,
    look,
    serviceName,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  })
}

/** Sends an error of the authorization endpoint: a page to a browser, JSON to other clients. */
export function sendAuthorizationError(
  reply: FastifyReply,
  errorResponse: OAuthErrorResponse,
  { serviceName, look }: Presentation,
): FastifyReply {
  if (!(reply.request.headers.accept ?? '').includes('text/html'))
    return sendErrorResponse(reply, errorResponse)
  recordOutcome(reply.request, { error: errorResponse.error })
  const { status, headers = {} } = errorResponse
  const locale = localeOf(reply.request)
  const markup = renderErrorPage({ ...errorResponse, locale, look, serviceName, requestId: reply.request.id })
  return sendPage(reply.headers(headers), { status, markup, locale, look, formTargets: [] })
}
