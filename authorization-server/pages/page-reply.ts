import type { FastifyReply } from 'fastify'
import { pageHeaders } from './page-headers.ts'
import { type PageError, renderErrorPage } from './render-error-page.ts'

export type PageReply = {
  readonly status: number
  readonly markup: string
  /** Allowed targets of its forms, as CSP sources. Undefined: any target. */
  readonly formTargets: readonly string[] | undefined
  readonly setCookie?: string | undefined
}

export function sendPage(reply: FastifyReply, page: PageReply): FastifyReply {
  if (page.setCookie !== undefined) {
    // The engine sets its cookies on the raw response. A header of Fastify would replace them.
    const present = reply.raw.getHeader('set-cookie') ?? []
    reply.header('set-cookie', [...(Array.isArray(present) ? present : [String(present)]), page.setCookie])
  }
  return reply.code(page.status).headers(pageHeaders(page.formTargets)).send(page.markup)
}

/** Sends an error page. `retryAfterSeconds`: time after which the same step may work. */
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

/** Redirects the browser after a form, with GET. Source: RFC 9700 section 4.12: 303, never 307. */
export function sendOnward(reply: FastifyReply, address: string): FastifyReply {
  return reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(address, 303)
}
