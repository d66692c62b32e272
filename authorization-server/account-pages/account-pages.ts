import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { AddressLimit } from '../../platform/net/address-limit.ts'
import { displayText } from '../../platform/pages/html.ts'
import type { Form } from '../../platform/pages/read-form.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { BrowserSession, BrowserSessions } from '../engine/browser-session.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import { ACCOUNT_CLIENT } from '../engine/provider-configuration.ts'
import { requestSource } from '../engine/request-source.ts'
import { createFormPages, type FormPagesOptions, originOf } from '../pages/form-pages.ts'
import { localeOf, redirectAfterForm } from '../pages/page-reply.ts'
import { endSessions } from '../store/end-sessions.ts'
import type { Store } from '../store/store.ts'
import { endAllGrants, findGrants, lastRefreshes } from '../store/stored-grants.ts'
import {
  accountPage,
  type ConnectedApp,
  type FormResult,
  isFormResult,
  sendSignedOut,
} from './account-page.ts'

export type AccountPagesOptions = FormPagesOptions & {
  readonly sessions: BrowserSessions
  /** @returns undefined when the client no longer exists. */
  readonly findClient: (
    clientId: string,
  ) => Promise<{ readonly name: string | undefined; readonly verified: boolean } | undefined>
  readonly accounts: Pick<Accounts, 'find'>
  readonly store: Pick<Store, 'artifacts'>
  readonly catalogue: ScopeCatalogue
  readonly issuer: string
  /** True: people manage the second factor of a local account on a separate page. Default: false. */
  readonly hasSecondFactors?: boolean
  readonly onEvent: (event: EngineEvent) => void
  /** Limit for each address, which authorization requests share. */
  readonly limit: Pick<AddressLimit, 'take'>
}

/** Maximum number of grants that the page reads. The forms also end older grants. */
const MAX_GRANTS = 1_000

/** The signed-in person of a browser. */
type SignedIn = {
  readonly session: BrowserSession
  readonly account: NonNullable<Awaited<ReturnType<Accounts['find']>>>
}

const BODY_LIMIT_BYTES = 4_096
const CHALLENGE_BYTES = 32

/**
 * Mounts the account page. On this page, a person can see the apps with access, remove the access of an app, and sign
 * out. GET /oauth/account shows the page. POST …/remove, …/remove-all, …/sign-out and …/sign-out-others receive the
 * forms. A person without a session first signs in through an authorization request of {@link ACCOUNT_CLIENT}.
 */
export function registerAccountPages(app: FastifyInstance, options: AccountPagesOptions): void {
  const { accounts, issuer, onEvent, sessions, store } = options
  const forms = createFormPages(options)

  const readSignedIn = async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<SignedIn | undefined> => {
    const session = await sessions.read(request.raw, reply.raw)
    const account = session && (await accounts.find(session.accountId))
    return session && account && { session, account }
  }

  const revoke = (request: FastifyRequest, { account }: SignedIn, client?: string): Promise<void> =>
    endAllGrants(store, { accountId: account.id, client }, ({ grant, clientId }) =>
      onEvent({
        kind: 'grant_revoked',
        reason: 'access_removed',
        clientId,
        accountId: account.id,
        grant,
        origin: originOf(request),
      }),
    )

  /**
   * Runs the checks of every form. Redirects to the account page if the browser has no session. Sends an error page if
   * another check fails.
   */
  const receive = async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<(SignedIn & { readonly form: Form }) | FastifyReply> => {
    const posted = forms.read(request, reply)
    if (!('form' in posted)) return posted
    const signedIn = await readSignedIn(request, reply)
    if (signedIn === undefined) return redirectAfterForm(reply, ENDPOINTS.account)
    const rejected = forms.rejectForeign(request, reply, posted.form, signedIn.session.uid)
    return rejected ?? { ...signedIn, ...posted }
  }

  /** Redirects to the account page. The account page then shows the result. */
  const showResult = (
    request: FastifyRequest,
    reply: FastifyReply,
    { session }: SignedIn,
    done: FormResult,
  ): FastifyReply => {
    const cookie = forms.tokens.readCookie(request.headers.cookie)
    const query = new URLSearchParams({
      done,
      proof: forms.tokens.issue(proofOf(session, done), cookie.value),
    })
    return redirectAfterForm(reply, `${ENDPOINTS.account}?${query}`)
  }

  /**
   * Reads the result of a form. Returns undefined if `showResult()` did not create the address for this session and
   * browser.
   */
  const readResult = (
    { headers, query }: FastifyRequest<{ Querystring: ResultQuery }>,
    session: BrowserSession,
  ): FormResult | undefined => {
    const { done, proof } = query
    if (!isFormResult(done) || typeof proof !== 'string') return undefined
    const isOurs = forms.tokens.verify({
      uid: proofOf(session, done),
      cookieHeader: headers.cookie,
      token: proof,
    })
    return isOurs ? done : undefined
  }

  forms.mount(app, BODY_LIMIT_BYTES, (pages) => {
    pages.addHook('onRequest', async (request, reply) => {
      const wait = options.limit.take(requestSource({ clientAddress: request.ip }).address)
      if (wait !== undefined)
        return forms.sendError(reply, {
          status: 429,
          error: 'rate_limited',
          description: `Too many requests came from this address. Try again in ${wait.retryAfterSeconds} seconds.`,
          ...wait,
        })
    })

    pages.get<{ Querystring: ResultQuery }>(ENDPOINTS.account, async (request, reply) => {
      const signedIn = await readSignedIn(request, reply)
      if (signedIn === undefined) return redirectAfterForm(reply, signInAddress(issuer))
      const { account, session } = signedIn
      const cookie = forms.tokens.readCookie(request.headers.cookie)
      const locale = localeOf(request)
      const page = accountPage({
        account: { ...account, username: displayText(account.username) ?? '' },
        ...(await connectedApps(account.id, options)),
        sessions: (await store.artifacts('Session').listByAccount(account.id)).length,
        signedInSeconds: session.signedInSeconds,
        catalogue: options.catalogue,
        secondFactorPath:
          options.hasSecondFactors === true && account.provider === undefined
            ? `${ENDPOINTS.account}/second-factor`
            : undefined,
        done: readResult(request, session),
        locale,
        formToken: forms.tokens.issue(session.uid, cookie.value),
        path: ENDPOINTS.account,
      })
      return forms.send(reply, page, { status: 200, formTargets: ["'self'"], setCookie: cookie.setCookie })
    })

    // The code in the query is not used: the person has a session now.
    pages.get<{ Querystring: { error?: unknown } }>(ACCOUNT_CLIENT.redirectPath, async (request, reply) =>
      request.query.error === undefined
        ? redirectAfterForm(reply, ENDPOINTS.account)
        : sendSignedOut(forms, reply),
    )

    pages.post(`${ENDPOINTS.account}/remove`, async (request, reply) => {
      const received = await receive(request, reply)
      if (!('form' in received)) return received
      await revoke(request, received, received.form.get('client') ?? '')
      return showResult(request, reply, received, 'removed')
    })

    pages.post(`${ENDPOINTS.account}/remove-all`, async (request, reply) => {
      const received = await receive(request, reply)
      if (!('form' in received)) return received
      await revoke(request, received)
      return showResult(request, reply, received, 'removed-all')
    })

    pages.post(`${ENDPOINTS.account}/sign-out`, async (request, reply) => {
      const received = await receive(request, reply)
      if (!('form' in received)) return received
      await sessions.end(request.raw, reply.raw)
      reportSignedOut(request, received)
      return sendSignedOut(forms, reply)
    })

    pages.post(`${ENDPOINTS.account}/sign-out-others`, async (request, reply) => {
      const received = await receive(request, reply)
      if (!('form' in received)) return received
      const ended = await endSessions(store, received.account.id, received.session.uid)
      for (const _ of ended) reportSignedOut(request, received)
      return showResult(request, reply, received, 'signed-out-others')
    })
  })

  function reportSignedOut(request: FastifyRequest, { account }: SignedIn): void {
    onEvent({ kind: 'signed_out', clientId: undefined, accountId: account.id, origin: originOf(request) })
  }
}

/** `proof` is a form token, so that no other site can make the page show a result. */
type ResultQuery = { readonly done?: unknown; readonly proof?: unknown }

function proofOf({ uid }: BrowserSession, done: FormResult): string {
  return `${uid} ${done}`
}

/** Returns the authorization request with which a person signs in for the account page. */
function signInAddress(issuer: string): string {
  const query = new URLSearchParams({
    client_id: ACCOUNT_CLIENT.id,
    response_type: 'code',
    redirect_uri: issuer + ACCOUNT_CLIENT.redirectPath,
    scope: 'openid',
    // The server never exchanges the code, so the verifier of this challenge is not necessary.
    code_challenge: randomBytes(CHALLENGE_BYTES).toString('base64url'),
    code_challenge_method: 'S256',
    state: randomBytes(CHALLENGE_BYTES).toString('base64url'),
  })
  return `${ENDPOINTS.authorization}?${query}`
}

/** Returns the clients with a grant of the account. The client with the newest grant is first. */
async function connectedApps(
  accountId: string,
  { store, findClient }: Pick<AccountPagesOptions, 'store' | 'findClient'>,
): Promise<{ readonly apps: readonly ConnectedApp[]; readonly shownGrants: number | undefined }> {
  const all = await findGrants(store, { accountId })
  const grants = all.slice(0, MAX_GRANTS)
  const refreshed = await lastRefreshes(store, accountId)
  const byClient = Map.groupBy(grants, ({ clientId }) => clientId)
  const apps = await Promise.all(
    [...byClient].map(async ([clientId, own]) => {
      const client = await findClient(clientId)
      const created = own.flatMap(({ createdAtSeconds }) => createdAtSeconds ?? [])
      const tokens = own.flatMap(
        ({ grant, createdAtSeconds }) => refreshed.get(grant) ?? createdAtSeconds ?? [],
      )
      return {
        clientId,
        name: displayText(client?.name),
        verified: client?.verified ?? false,
        scopes: [...new Set(own.flatMap(({ scopes }) => scopes))],
        firstGrantSeconds: created.length === 0 ? undefined : Math.min(...created),
        lastTokenSeconds: tokens.length === 0 ? undefined : Math.max(...tokens),
      }
    }),
  )
  return { apps, shownGrants: all.length > grants.length ? grants.length : undefined }
}
