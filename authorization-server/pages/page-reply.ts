import type { FastifyReply } from 'fastify'
import { pageHeaders } from './page-headers.ts'
import { type PageError, renderErrorPage } from './render-error-page.ts'

/** A page that is ready to be sent. */
export type PageReply = {
  readonly status: number
  readonly markup: string
  /** Where its forms may lead, as CSP sources; undefined: anywhere. */
  readonly formTargets: readonly string[] | undefined
  readonly setCookie?: string | undefined
}

/** Sends a page with its headers. */
export function sendPage(reply: FastifyReply, page: PageReply): FastifyReply {
  if (page.setCookie !== undefined) {
    // The engine writes its cookies on the raw response; Fastify's own header would replace them.
    const present = reply.raw.getHeader('set-cookie') ?? []
    reply.header('set-cookie', [...(Array.isArray(present) ? present : [String(present)]), page.setCookie])
  }
  return reply.code(page.status).headers(pageHeaders(page.formTargets)).send(page.markup)
}

/** Sends an error page; `retryAfterSeconds` says when the same step may work. */
export function sendErrorPage(
  reply: FastifyReply,
  error: PageError & {
    readonly status: number
    readonly serviceName: string
    readonly retryAfterSeconds?: number
  },
): FastifyReply {
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds)
  const markup = renderErrorPage({ ...error, requestId: reply.request.id })
  return sendPage(reply, { status: error.status, markup, formTargets: [] })
}

/** Sends the browser on after a form, with GET. Source: RFC 9700 section 4.12: 303, never 307. */
export function sendOnward(reply: FastifyReply, address: string): FastifyReply {
  return reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(address, 303)
}
