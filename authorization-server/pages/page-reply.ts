import type { FastifyReply, FastifyRequest } from 'fastify'
import { securityHeaders } from '../../platform/pages/security-headers.ts'
import type { Look } from './look.ts'
import { type Locale, selectLocale } from './messages/message.ts'
import { type PageError, renderErrorPage } from './render-error-page.ts'
import { DEFAULT_LOOK } from './render-page.ts'

export type PageReply = {
  readonly status: number
  readonly markup: string
  readonly locale: Locale
  readonly look?: Look | undefined
  /** Allowed targets of the forms on the page, as CSP sources. Undefined: any target. */
  readonly formTargets: readonly string[] | undefined
  readonly setCookie?: string | undefined
}

export function sendPage(reply: FastifyReply, page: PageReply): FastifyReply {
  if (page.setCookie !== undefined) {
    // The engine sets its cookies on the raw response. A `set-cookie` header of Fastify would replace these cookies.
    const present = reply.raw.getHeader('set-cookie') ?? []
    reply.header('set-cookie', [...(Array.isArray(present) ? present : [String(present)]), page.setCookie])
  }
  return reply
    .code(page.status)
    .headers(pageHeaders(page.formTargets, page.locale, page.look))
    .send(page.markup)
}

/** Sends an error page. `retryAfterSeconds`: time after which the person can try the step again. */
export function sendErrorPage(
  reply: FastifyReply,
  error: PageError & {
    readonly status: number
    readonly serviceName: string
    readonly look?: Look | undefined
    readonly retryAfterSeconds?: number
  },
): FastifyReply {
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds)
  const locale = localeOf(reply.request)
  const markup = renderErrorPage({ ...error, locale, requestId: reply.request.id })
  return sendPage(reply, { status: error.status, markup, locale, look: error.look, formTargets: [] })
}

/**
 * Selects the language of a page from `ui_locales`, then from `Accept-Language`. Default: English.
 * @param uiLocales value of `ui_locales` in the authorization request. Default: `ui_locales` in the query of `request`.
 */
export function localeOf(request: Pick<FastifyRequest, 'headers' | 'url'>, uiLocales?: string): Locale {
  const [, query = ''] = request.url.split('?', 2)
  return selectLocale({
    uiLocales: uiLocales ?? new URLSearchParams(query).get('ui_locales') ?? undefined,
    acceptLanguage: request.headers['accept-language'],
  })
}

/**
 * Redirects the browser after a form. With status 303, the browser sends a GET. Never use 307: RFC 9700 section 4.12.
 */
export function redirectAfterForm(reply: FastifyReply, address: string): FastifyReply {
  return reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(address, 303)
}

/**
 * Returns the headers of every page. The page loads only the embedded stylesheet.
 * @param formTargets allowed targets of forms and their redirects. Undefined: any target; see the consent page.
 */
export function pageHeaders(
  formTargets: readonly string[] | undefined,
  locale: Locale,
  look: Look = DEFAULT_LOOK,
): Readonly<Record<string, string>> {
  const sources = [`style-src ${look.styleSource}`, ...(look.logo === undefined ? [] : ['img-src data:'])]
  return { ...securityHeaders(sources, formTargets), 'content-language': locale, vary: 'accept-language' }
}
