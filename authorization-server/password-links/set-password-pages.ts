import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { displayText } from '../../platform/pages/html.ts'
import { type Account, type Accounts, validatePassword } from '../accounts/accounts.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import { createFormPages, type FormPagesOptions, originOf } from '../pages/form-pages.ts'
import { INTERACTION_LIMITS } from '../pages/interaction-limits.ts'
import { localeOf } from '../pages/page-reply.ts'
import { createSharedThrottle } from '../sign-in/shared-throttle.ts'
import { hashId } from '../store/artifact-record.ts'
import { endSessions } from '../store/end-sessions.ts'
import type { AttemptCounters, Store } from '../store/store.ts'
import { endAllGrants } from '../store/stored-grants.ts'
import type { PasswordLink, PasswordLinks } from './password-links.ts'
import { describeProblem, passwordSetPage, setPasswordPage } from './set-password-page.ts'

export type SetPasswordPagesOptions = FormPagesOptions & {
  readonly links: PasswordLinks
  readonly accounts: Pick<Accounts, 'find' | 'setPassword'>
  readonly store: Pick<Store, 'artifacts'>
  readonly attempts: AttemptCounters | undefined
  readonly nowMs: () => number
  readonly onEvent: (event: EngineEvent) => void
}

const BODY_LIMIT_BYTES = 4_096

/**
 * Mounts the page on which a person sets a password with a one-time link of the operator. GET
 * /oauth/set-password?token=… shows the form, and leaves the link usable, because mail programs request links. POST
 * /oauth/set-password consumes the link. Unknown, expired and used links get the same response.
 */
export function registerSetPasswordPages(app: FastifyInstance, options: SetPasswordPagesOptions): void {
  const { accounts, links, onEvent, serviceName, store } = options
  const forms = createFormPages(options)
  const throttle = createSharedThrottle({
    purpose: 'password link',
    limits: INTERACTION_LIMITS.signIn,
    counters: options.attempts,
    nowMs: options.nowMs,
  })

  /** Finds the link of a token. Sends an error page if the link is not valid, or after too many such links. */
  const open = async (
    request: FastifyRequest,
    reply: FastifyReply,
    token: unknown,
  ): Promise<
    { readonly link: PasswordLink; readonly account: Account; readonly token: string } | FastifyReply
  > => {
    const throttled = await throttle.attempt('', request.ip)
    if (throttled !== undefined) {
      const { isFirst, retryAfterSeconds } = throttled
      onEvent({ kind: 'sign_in_throttled', isFirst, origin: originOf(request) })
      return forms.sendError(reply, {
        status: 429,
        error: 'too_many_attempts',
        description: `Try again in ${retryAfterSeconds} seconds.`,
        retryAfterSeconds,
      })
    }
    const link = typeof token === 'string' ? await links.find(token) : undefined
    const account = link && (await accounts.find(link.accountId))
    if (link === undefined || account === undefined) return rejectLink(reply)
    await throttle.succeeded('', request.ip)
    return { link, account, token: String(token) }
  }

  const rejectLink = (reply: FastifyReply): FastifyReply =>
    forms.sendError(reply, {
      status: 400,
      error: 'link_invalid',
      description: 'The link is unknown, expired or used.',
    })

  const showForm = (
    request: FastifyRequest,
    reply: FastifyReply,
    { account, token }: { readonly account: Account; readonly token: string },
    problem?: Parameters<typeof describeProblem>[1],
  ): FastifyReply => {
    const locale = localeOf(request)
    const cookie = forms.tokens.readCookie(request.headers.cookie)
    const page = setPasswordPage({
      account: { username: account.username, name: displayText(account.name) ?? account.username },
      serviceName,
      locale,
      problem: problem && describeProblem(locale, problem),
      formToken: forms.tokens.issue(hashId(token), cookie.value),
      token,
      path: ENDPOINTS.setPassword,
    })
    return forms.send(reply, page, {
      status: problem === undefined ? 200 : 400,
      formTargets: ["'self'"],
      setCookie: cookie.setCookie,
    })
  }

  /** Ends all sign-in sessions and grants of an account. */
  const endAccess = async (request: FastifyRequest, accountId: string): Promise<void> => {
    await endSessions(store, accountId)
    await endAllGrants(store, { accountId }, ({ grant, clientId }) =>
      onEvent({
        kind: 'grant_revoked',
        reason: 'access_removed',
        clientId,
        accountId,
        grant,
        origin: originOf(request),
      }),
    )
  }

  forms.mount(app, BODY_LIMIT_BYTES, (pages) => {
    pages.get<{ Querystring: { token?: unknown } }>(ENDPOINTS.setPassword, async (request, reply) => {
      const opened = await open(request, reply, request.query.token)
      return 'link' in opened ? showForm(request, reply, opened) : opened
    })

    pages.post(ENDPOINTS.setPassword, async (request, reply) => {
      const posted = forms.read(request, reply)
      if (!('form' in posted)) return posted
      const { form } = posted
      const token = form.get('token') ?? ''
      const rejected = forms.rejectForeign(request, reply, form, hashId(token))
      if (rejected !== undefined) return rejected
      const opened = await open(request, reply, token)
      if (!('link' in opened)) return opened
      const password = form.get('password') ?? ''
      const problem = password === form.get('repeated') ? validatePassword(password)?.rejected : 'different'
      if (problem !== undefined) return showForm(request, reply, opened, problem)
      const { accountId, purpose } = opened.link
      // The link is consumed first, so that two concurrent forms set one password. If a later step fails, the operator
      // must create another link.
      if (!(await links.consume(token))) return rejectLink(reply)
      await accounts.setPassword(accountId, password)
      onEvent({ kind: 'password_set', accountId, purpose, origin: originOf(request) })
      await endAccess(request, accountId)
      const locale = localeOf(request)
      const page = passwordSetPage(locale, { purpose, accountPath: ENDPOINTS.account })
      return forms.send(reply, page, { status: 200, formTargets: [] })
    })
  })
}
