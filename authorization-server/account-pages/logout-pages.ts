import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { displayText, type Html, html } from '../../platform/pages/html.ts'
import { type Form, readForm } from '../../platform/pages/read-form.ts'
import type { BrowserSession, BrowserSessions } from '../engine/browser-session.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import { createFormPages, type FormPagesOptions, originOf } from '../pages/form-pages.ts'
import { type Locale, message } from '../pages/messages/message.ts'
import { localeOf, redirectAfterForm } from '../pages/page-reply.ts'
import { sendSignedOut } from './account-page.ts'

export type LogoutPagesOptions = FormPagesOptions & {
  readonly sessions: BrowserSessions
  /** @returns undefined when the signature, the issuer or the client of the ID token is not valid. */
  readonly readIdToken: (
    idToken: string,
  ) => Promise<{ readonly clientId: string; readonly subject: string } | undefined>
  /** The clients that the configuration contains. */
  readonly integrations: readonly {
    readonly clientId: string
    readonly clientName: string
    readonly postLogoutRedirectUris: readonly string[]
  }[]
  readonly onEvent: (event: EngineEvent) => void
}

/** A validated logout request. OpenID Connect RP-Initiated Logout 1.0 section 2. */
type LogoutRequest = {
  readonly clientId: string | undefined
  readonly clientName: string | undefined
  /** `sub` of a valid `id_token_hint`. */
  readonly subject: string | undefined
  /** The registered `post_logout_redirect_uri`. */
  readonly redirectUri: string | undefined
  readonly state: string | undefined
}

type Rejection = { readonly rejected: string }

const BODY_LIMIT_BYTES = 16_384
const CONFIRM_PATH = `${ENDPOINTS.endSession}/confirm`

/**
 * Mounts the logout endpoint (`end_session_endpoint`) for the integrations. OpenID Connect RP-Initiated Logout 1.0.
 * A request with a valid ID token of the signed-in person ends the session. Other requests show a page that asks the
 * person first, because any site can send the browser to this endpoint. Grants and tokens stay valid.
 */
export function registerLogoutPages(app: FastifyInstance, options: LogoutPagesOptions): void {
  const { onEvent, sessions } = options
  const forms = createFormPages(options)

  forms.mount(app, BODY_LIMIT_BYTES, (pages) => {
    pages.get(ENDPOINTS.endSession, { exposeHeadRoute: false }, async (request, reply) =>
      answer(request, reply, readForm(queryOf(request))),
    )
    pages.post(ENDPOINTS.endSession, async (request, reply) => answer(request, reply, bodyOf(request)))

    pages.post(CONFIRM_PATH, async (request, reply) => {
      const posted = forms.read(request, reply)
      if (!('form' in posted)) return posted
      const logout = await readLogout(posted.form, options)
      if ('rejected' in logout) return sendInvalid(reply, logout)
      const session = await sessions.read(request.raw, reply.raw)
      if (session === undefined) return leave(reply, logout)
      const rejected = forms.rejectForeign(request, reply, posted.form, session.uid)
      if (rejected !== undefined) return rejected
      await signOut(request, reply, session, logout)
      return leave(reply, logout)
    })
  })

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    parameters: Form | undefined,
  ): Promise<FastifyReply> {
    const logout = parameters && (await readLogout(parameters, options))
    if (logout === undefined || 'rejected' in logout) return sendInvalid(reply, logout)
    const session = await sessions.read(request.raw, reply.raw)
    if (session === undefined) return leave(reply, logout)
    if (logout.subject === session.accountId) {
      await signOut(request, reply, session, logout)
      return leave(reply, logout)
    }
    const cookie = forms.tokens.readCookie(request.headers.cookie)
    const locale = localeOf(request)
    const page = {
      title: message(locale, 'logout.title'),
      body: confirmation(logout, forms.tokens.issue(session.uid, cookie.value), locale),
    }
    return forms.send(reply, page, {
      status: 200,
      // Chromium applies form-action to the redirect to the client, and to further redirects of the client.
      formTargets: logout.redirectUri === undefined ? ["'self'"] : undefined,
      setCookie: cookie.setCookie,
    })
  }

  async function signOut(
    request: FastifyRequest,
    reply: FastifyReply,
    { accountId }: BrowserSession,
    { clientId }: LogoutRequest,
  ): Promise<void> {
    await sessions.end(request.raw, reply.raw)
    onEvent({ kind: 'signed_out', clientId, accountId, origin: originOf(request) })
  }

  /** Redirects to the client. Without a redirect URI, shows that the person is signed out. */
  function leave(reply: FastifyReply, { redirectUri, state }: LogoutRequest): FastifyReply {
    if (redirectUri === undefined) return sendSignedOut(forms, reply)
    const address = new URL(redirectUri)
    if (state !== undefined) address.searchParams.set('state', state)
    return redirectAfterForm(reply, address.href)
  }

  function sendInvalid(reply: FastifyReply, rejection: Rejection | undefined): FastifyReply {
    return forms.sendError(reply, {
      status: 400,
      error: 'invalid_request',
      description: rejection?.rejected ?? 'The parameters are malformed or repeated.',
    })
  }
}

function queryOf({ raw: { url = '' } }: FastifyRequest): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

function bodyOf({ body }: FastifyRequest): Form | undefined {
  return typeof body === 'string' ? readForm(body) : undefined
}

/** Validates the parameters of a logout request. OpenID Connect RP-Initiated Logout 1.0 sections 2 and 3. */
async function readLogout(
  parameters: Form,
  { integrations, readIdToken }: Pick<LogoutPagesOptions, 'integrations' | 'readIdToken'>,
): Promise<LogoutRequest | Rejection> {
  const [hint, named, uri] = ['id_token_hint', 'client_id', 'post_logout_redirect_uri'].map((name) =>
    parameters.get(name),
  )
  const identified = hint === undefined ? undefined : await readIdToken(hint)
  if (hint !== undefined && identified === undefined)
    return { rejected: 'id_token_hint is not a valid ID token of this issuer' }
  if (identified !== undefined && named !== undefined && identified.clientId !== named)
    return { rejected: 'client_id differs from the audience of id_token_hint' }
  const clientId = identified?.clientId ?? named
  const client = integrations.find((one) => one.clientId === clientId)
  if (uri !== undefined && !client?.postLogoutRedirectUris.includes(uri))
    return { rejected: 'post_logout_redirect_uri is not configured for this client' }
  return {
    clientId,
    clientName: displayText(client?.clientName),
    subject: identified?.subject,
    redirectUri: uri,
    state: parameters.get('state'),
  }
}

function confirmation(logout: LogoutRequest, formToken: string, locale: Locale): Html {
  const { clientId, clientName, redirectUri, state } = logout
  const fields = { form_token: formToken, client_id: clientId, post_logout_redirect_uri: redirectUri, state }
  const asks =
    clientName === undefined
      ? message(locale, 'logout.unnamedApp')
      : message(locale, 'logout.app', { app: html`<strong><bdi>${clientName}</bdi></strong>` })
  return html`<p>${asks} ${message(locale, 'account.appsKeepAccess')}</p>
<form method="post" action="${CONFIRM_PATH}">
${Object.entries(fields).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">\n`)}<div class="actions">
<button>${message(locale, 'account.signOut')}</button>
<a href="${ENDPOINTS.account}">${message(locale, 'logout.stay')}</a>
</div>
</form>`
}
