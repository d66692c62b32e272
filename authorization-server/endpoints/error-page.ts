import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { pageHeaders, sendPage } from '../pages/page-reply.ts'
import { renderErrorPage } from '../pages/render-error-page.ts'
import { type OAuthRefusal, sendRefusal } from './oauth-refusal.ts'

/**
 * Returns the error page for a browser that cannot be redirected to the client. Sets the page headers on `response`.
 */
export function errorPage(
  error: { readonly error: string; readonly description: string },
  response: ServerResponse,
  serviceName: string,
): string {
  for (const [name, value] of Object.entries(pageHeaders([]))) response.setHeader(name, value)
  const requestId = response.getHeader('x-request-id')
  return renderErrorPage({
    ...error,
    serviceName,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  })
}

/** Sends an error of the authorization endpoint: a page to a browser, JSON to other clients. */
export function sendAuthorizationRefusal(
  reply: FastifyReply,
  refusal: OAuthRefusal,
  serviceName: string,
): FastifyReply {
  if (!(reply.request.headers.accept ?? '').includes('text/html')) return sendRefusal(reply, refusal)
  const { status, headers = {} } = refusal
  const markup = renderErrorPage({ ...refusal, serviceName, requestId: reply.request.id })
  return sendPage(reply.headers(headers), { status, markup, formTargets: [] })
}
