import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../platform/logging/logger.ts'
import { type Form, readForm } from '../../platform/pages/read-form.ts'
import type { RequestOrigin } from '../engine/engine-events.ts'
import { explainFailure } from './explain-failure.ts'
import { createFormTokens, type FormTokens, isSameOrigin } from './forms.ts'
import type { Look } from './look.ts'
import type { Locale } from './messages/message.ts'
import { localeOf, type PageReply, sendErrorPage, sendPage } from './page-reply.ts'
import type { PageError } from './render-error-page.ts'
import { type Page, renderPage } from './render-page.ts'

export type FormPagesOptions = {
  readonly serviceName: string
  readonly look?: Look | undefined
  /** Origin of the public URL, for example `https://login.example`. Forms must come from this origin. */
  readonly origin: string
  /** True for an https issuer: cookies get the prefix `__Host-` and the attribute Secure. */
  readonly secureCookies: boolean
  /** Returns the keys that sign cookies, newest first. */
  readonly cookieKeys: () => readonly string[]
  readonly logger: Pick<Logger, 'error'>
}

/** Serves pages with forms. Parses and checks forms, and sends pages and error pages. */
export type FormPages = {
  readonly tokens: FormTokens
  /** Mounts routes that receive forms. A failure of a route becomes an error page. */
  mount(app: FastifyInstance, bodyLimitBytes: number, addRoutes: (pages: FastifyInstance) => void): void
  /** Reads a posted form. Sends an error page if the form is malformed. */
  read(request: FastifyRequest, reply: FastifyReply): { readonly form: Form } | FastifyReply
  /**
   * Checks that a form came from a page of this server, for this browser and for `uid`.
   * @returns the error page if a check fails. Otherwise returns undefined.
   */
  rejectForeign(
    request: FastifyRequest,
    reply: FastifyReply,
    form: Form,
    uid: string,
  ): FastifyReply | undefined
  /** @param shown.locale default: the language of the request. */
  send(
    reply: FastifyReply,
    page: Pick<Page, 'title' | 'heading' | 'isWide' | 'body'>,
    shown: Pick<PageReply, 'status' | 'formTargets' | 'setCookie'> & { readonly locale?: Locale },
  ): FastifyReply
  /** @param error.retryAfterSeconds time after which the person can try the step again. */
  sendError(
    reply: FastifyReply,
    error: PageError & { readonly status: number; readonly retryAfterSeconds?: number },
  ): FastifyReply
}

export function createFormPages(options: FormPagesOptions): FormPages {
  const { logger, look, origin, serviceName } = options
  const tokens = createFormTokens(options)
  const sendError: FormPages['sendError'] = (reply, error) =>
    sendErrorPage(reply, { ...error, serviceName, look })
  return {
    tokens,
    sendError,
    mount(app, bodyLimitBytes, addRoutes) {
      app.register(async (pages) => {
        pages.removeAllContentTypeParsers()
        pages.addContentTypeParser<string>(
          'application/x-www-form-urlencoded',
          { parseAs: 'string', bodyLimit: bodyLimitBytes },
          (_request, body, done) => done(null, body),
        )
        pages.setErrorHandler((failure, request, reply) => {
          const explained = explainFailure(failure)
          if (explained.ours)
            logger.error(
              { event: 'page_failed', err: failure, request_id: request.id, 'client.address': request.ip },
              'a page failed',
            )
          return sendError(reply, explained)
        })
        addRoutes(pages)
      })
    },
    read({ body }, reply) {
      const form = typeof body === 'string' ? readForm(body) : undefined
      return form === undefined
        ? sendError(reply, {
            status: 400,
            error: 'form_unreadable',
            description: 'The form is malformed or repeats a field.',
          })
        : { form }
    },
    rejectForeign({ headers }, reply, form, uid) {
      const token = form.get('form_token')
      const isOurs =
        isSameOrigin(headers, origin) && tokens.verify({ uid, cookieHeader: headers.cookie, token })
      return isOurs
        ? undefined
        : sendError(reply, {
            status: 403,
            error: 'form_refused',
            description: 'The form token is missing or invalid, or the form came from another site.',
          })
    },
    send(reply, page, { locale = localeOf(reply.request), ...shown }) {
      const markup = renderPage({ ...page, serviceName, look, locale, requestId: reply.request.id })
      return sendPage(reply, { ...shown, markup, locale, look })
    },
  }
}

/** Returns the origin of a request for the audit log. */
export function originOf(request: FastifyRequest): RequestOrigin {
  return { requestId: request.id, clientAddress: request.ip }
}
