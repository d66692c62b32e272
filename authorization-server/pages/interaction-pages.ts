import type { FastifyInstance, FastifyReply } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { displayText } from '../../platform/pages/html.ts'
import type { Form } from '../../platform/pages/read-form.ts'
import { createSemaphore } from '../../platform/semaphore.ts'
import type { Account, Accounts } from '../accounts/accounts.ts'
import { ACCOUNT_CLIENT_ID } from '../config.ts'
import { consentPage, type GrantLifetimes, readRedirectTarget } from '../consent/consent-page.ts'
import {
  defaultTicks,
  grantedScopes,
  groupScopes,
  postedTicks,
  type ScopeGroup,
  TOGGLE_FIELD,
  toggleTicks,
} from '../consent/scope-selection.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import type { Authentication, Interaction, Interactions } from '../engine/interactions.ts'
import { createCodeThrottle } from '../second-factor/code-throttle.ts'
import { createSecondFactorStep, type SecondFactorSettings } from '../second-factor/second-factor-step.ts'
import { createSharedThrottle } from '../sign-in/shared-throttle.ts'
import { signInPage } from '../sign-in/sign-in-page.ts'
import type { ThrottledAttempt } from '../sign-in/sign-in-throttle.ts'
import type { AttemptCounters } from '../store/store.ts'
import { createFormPages, type FormPagesOptions, originOf } from './form-pages.ts'
import { INTERACTION_LIMITS, type InteractionLimits } from './interaction-limits.ts'
import { message } from './messages/message.ts'
import { localeOf, type PageReply, redirectAfterForm } from './page-reply.ts'
import {
  type PageRequest,
  type PageRoute,
  type ProviderSignIn,
  registerProviderPages,
  type SignInProblem,
} from './provider-pages.ts'
import type { Page } from './render-page.ts'

/**
 * Options for `registerInteractionPages()`. `limits` defaults to `INTERACTION_LIMITS`. `nowMs` is the wall clock, in
 * milliseconds since the epoch.
 */
export type InteractionPagesOptions = FormPagesOptions & {
  readonly interactions: Interactions
  readonly accounts: Pick<Accounts, 'verify' | 'find' | 'findId'>
  readonly catalogue: ScopeCatalogue
  readonly lifetimes: GrantLifetimes
  readonly limits?: InteractionLimits
  /** Counters of sign-ins in the store. Undefined: the pages count in this process. */
  readonly attempts?: AttemptCounters
  /** False: the pages accept no user name and password. Default: true. */
  readonly localAccounts?: boolean
  /** Sign-in through OpenID providers. Undefined: no providers. */
  readonly providers?: ProviderSignIn
  /** The second factor of local accounts. If undefined, the password is sufficient. */
  readonly secondFactor?: SecondFactorSettings | undefined
  readonly nowMs: () => number
  readonly onEvent: (event: EngineEvent) => void
}

/**
 * Mounts the sign-in and consent pages.
 * GET /oauth/interaction/:uid shows the next page. POST …/sign-in, …/second-factor,
 * …/second-factor/set-up, …/consent and …/cancel receive the forms.
 * The pages need no script. Each form needs the token for this browser and this interaction.
 * The throttle counts attempts per `request.ip`: behind a proxy, Fastify's `trustProxy` must name the proxy.
 */
export function registerInteractionPages(app: FastifyInstance, options: InteractionPagesOptions): void {
  const { interactions, accounts, catalogue, onEvent, serviceName, localAccounts = true } = options
  const providers = [...(options.providers?.clients.values() ?? [])].map(({ provider }) => provider)
  const limits = options.limits ?? INTERACTION_LIMITS
  const forms = createFormPages(options)
  const { tokens } = forms
  const throttle = createSharedThrottle({
    purpose: 'sign-in',
    limits: limits.signIn,
    counters: options.attempts,
    nowMs: options.nowMs,
  })
  // Each hash takes one core and 19 MiB. The limit keeps the server responsive during many concurrent sign-ins.
  const hashing = createSemaphore(limits.passwordHashes)

  /**
   * Returns the text that distinguishes accounts with the same name. The user name of an account of a provider is random,
   * so the person does not know this user name.
   */
  const loginOf = ({ name, username, email, provider }: Account): string => {
    if (provider === undefined) return username
    const title = providers.find((one) => one.name === provider)?.title
    return (email === name ? title : (email ?? title)) ?? username
  }

  /**
   * Prepares the values that the sign-in page and the consent page share, and a function that sends a page. The form
   * token is bound to this browser and this interaction.
   */
  const begin = (request: PageRequest, interaction: Interaction) => {
    const cookie = tokens.readCookie(request.headers.cookie)
    const locale = localeOf(request, interaction.requested.uiLocales)
    return {
      shared: {
        clientName:
          interaction.client.id === ACCOUNT_CLIENT_ID
            ? String(message(locale, 'account.own'))
            : displayText(interaction.client.name),
        documentHost: interaction.client.documentHost,
        serviceName,
        locale,
        formToken: tokens.issue(interaction.uid, cookie.value),
        path: pathOf(interaction),
      },
      send: (
        reply: FastifyReply,
        page: Pick<Page, 'title' | 'heading' | 'isWide' | 'body'>,
        shown: Pick<PageReply, 'status' | 'formTargets'>,
      ) => forms.send(reply, page, { ...shown, locale, setCookie: cookie.setCookie }),
    }
  }

  // form-action prevents forms that send the password to other sites. Cancel redirects to the client, so the policy
  // must also list the client. If CSP cannot express the target of the client, the page has no form-action policy. With
  // OpenID providers, the page also has no form-action policy, because a provider can redirect to any other provider.
  const signInFormTargets = (interaction: Interaction): readonly string[] | undefined => {
    const { policySource } = readRedirectTarget(interaction.redirectUri)
    return policySource === undefined || providers.length > 0 ? undefined : ["'self'", policySource]
  }

  const showSignIn = (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    state: {
      readonly username: string
      readonly failed: boolean
      readonly problem?: SignInProblem
    },
  ): FastifyReply => {
    const { shared, send } = begin(request, interaction)
    const problem = state.problem?.text(shared.locale)
    return send(reply, signInPage({ ...state, ...shared, providers, problem, local: localAccounts }), {
      status: state.problem?.status ?? (state.failed ? 400 : 200),
      formTargets: signInFormTargets(interaction),
    })
  }

  const showConsent = (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    state: {
      readonly account: Account
      readonly groups: readonly ScopeGroup[]
      readonly ticked: ReadonlySet<string>
      readonly toggled?: string
      readonly nothingChosen?: boolean
    },
  ): FastifyReply => {
    const { toggled, nothingChosen = false } = state
    const { shared, send } = begin(request, interaction)
    const page = consentPage({
      ...state,
      ...shared,
      account: { name: state.account.name, login: loginOf(state.account) },
      toggled,
      nothingChosen,
      verified: interaction.client.verified,
      target: readRedirectTarget(interaction.redirectUri),
      lifetimes: options.lifetimes,
    })
    return send(reply, page, {
      status: nothingChosen ? 400 : 200,
      // Chromium applies form-action to every redirect after a form. This includes redirects from the callback of the
      // client to other pages of the client. With a list of targets, the redirect after Allow could fail.
      formTargets: undefined,
    })
  }

  /** @returns the account for the consent, or undefined when the person must sign in first. */
  const consentingAccount = async (interaction: Interaction): Promise<Account | undefined> =>
    interaction.prompt === 'consent' && interaction.accountId !== undefined
      ? accounts.find(interaction.accountId)
      : undefined

  /**
   * Runs the checks that apply to every form. The checks do not read the store.
   * @returns the form. If a check fails, sends an error page and returns the reply.
   */
  const receiveForm = (request: PageRequest, reply: FastifyReply): { readonly form: Form } | FastifyReply => {
    const posted = forms.read(request, reply)
    if (!('form' in posted)) return posted
    return forms.rejectForeign(request, reply, posted.form, request.params.uid) ?? posted
  }

  /**
   * Runs the checks of a form, and reads its interaction.
   * @returns undefined after the error page of a failed check. The function does not return the reply, because `await` on
   * a reply waits for the end of the response and gives undefined.
   */
  const receive = async (
    request: PageRequest,
    reply: FastifyReply,
  ): Promise<{ readonly interaction: Interaction; readonly form: Form } | undefined> => {
    const received = receiveForm(request, reply)
    if (!('form' in received)) return undefined
    return { interaction: await interactions.read(request.raw, reply.raw), form: received.form }
  }

  const rejectThrottled = (
    request: PageRequest,
    reply: FastifyReply,
    { retryAfterSeconds, isFirst }: ThrottledAttempt,
  ): FastifyReply => {
    onEvent({ kind: 'sign_in_throttled', isFirst, origin: originOf(request) })
    return forms.sendError(reply, {
      status: 429,
      error: 'too_many_attempts',
      description: `Try again in ${retryAfterSeconds} seconds.`,
      retryAfterSeconds,
    })
  }

  /**
   * Starts the session of a local account.
   * @returns the URL for the redirect.
   */
  const completeSignIn = async (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    signIn: Authentication & { readonly account: Account; readonly secondFactor?: 'otp' | 'recovery_code' },
  ): Promise<string> => {
    const { account, secondFactor, ...authentication } = signIn
    const accountId = account.id
    const { address, signedOut } = await interactions.signedIn(
      request.raw,
      reply.raw,
      accountId,
      authentication,
    )
    const clientId = interaction.client.id
    const origin = originOf(request)
    if (signedOut !== undefined) onEvent({ kind: 'signed_out', clientId, accountId: signedOut, origin })
    const how = secondFactor === undefined ? {} : { secondFactor }
    onEvent({ kind: 'signed_in', clientId, accountId, ...how, origin })
    return address
  }

  const secondFactor =
    options.secondFactor &&
    createSecondFactorStep({
      ...options.secondFactor,
      accounts,
      throttle: createCodeThrottle({ counters: options.attempts, nowMs: options.nowMs }),
      serviceName,
      onEvent,
      begin,
      formTargets: signInFormTargets,
      receive,
      rejectThrottled,
      showSignIn: (request, reply, interaction, problem) =>
        showSignIn(request, reply, interaction, { username: '', failed: false, problem }),
      complete: completeSignIn,
    })

  forms.mount(app, limits.bodyLimitBytes, (pages) => {
    secondFactor?.mount(pages)
    if (options.providers !== undefined)
      registerProviderPages(pages, {
        ...options.providers,
        interactions,
        forms,
        serviceName,
        nowSeconds: () => Math.floor(options.nowMs() / 1_000),
        onEvent,
        receive,
        showProblem: (request, reply, interaction, problem) =>
          showSignIn(request, reply, interaction, { username: '', failed: false, problem }),
      })

    pages.get<PageRoute>(`${ENDPOINTS.interaction}/:uid`, async (request, reply) => {
      const interaction = await interactions.read(request.raw, reply.raw)
      const isOther = request.query.account === 'other'
      const account = await consentingAccount(interaction)
      if (account === undefined || isOther) {
        if (!isOther && (await secondFactor?.stepUp(request, reply, interaction))) return reply
        return showSignIn(request, reply, interaction, {
          username: displayText(interaction.loginHint) ?? '',
          failed: false,
        })
      }
      const groups = groupScopes(interaction.scopes, catalogue)
      return showConsent(request, reply, interaction, { account, groups, ticked: defaultTicks(groups) })
    })

    pages.post<PageRoute>(`${ENDPOINTS.interaction}/:uid/sign-in`, async (request, reply) => {
      const received = receiveForm(request, reply)
      if (!('form' in received)) return received
      if (!localAccounts)
        return forms.sendError(reply, {
          status: 403,
          error: 'form_refused',
          description: 'This service has no sign-in with a user name and a password.',
        })
      const { form } = received
      const username = form.get('username') ?? ''
      const throttled = await throttle.check(username, request.ip) // runs before the interaction is read
      if (throttled !== undefined) return rejectThrottled(request, reply, throttled)
      const interaction = await interactions.read(request.raw, reply.raw)
      const clientId = interaction.client.id
      const origin = originOf(request)
      const failed = async (reason: 'wrong_credentials' | 'busy'): Promise<void> =>
        onEvent({
          kind: 'sign_in_failed',
          clientId,
          accountId: await accounts.findId(username),
          reason,
          origin,
        })
      const raced = await throttle.attempt(username, request.ip)
      if (raced !== undefined) return rejectThrottled(request, reply, raced)
      const verification = hashing.run(() => accounts.verify(username, form.get('password') ?? ''))
      if (verification === undefined) {
        await failed('busy')
        return forms.sendError(reply, {
          status: 503,
          error: 'busy',
          description: 'Too many concurrent sign-ins.',
          retryAfterSeconds: 2,
        })
      }
      const account = await verification
      if (account === undefined) {
        await failed('wrong_credentials')
        return showSignIn(request, reply, interaction, {
          username: displayText(username) ?? '',
          failed: true,
        })
      }
      await throttle.succeeded(username, request.ip)
      if (await secondFactor?.afterPassword(request, reply, interaction, account)) return reply
      const address = await completeSignIn(request, reply, interaction, {
        account,
        amr: ['pwd'],
        endMark: account.endMark,
      })
      return redirectAfterForm(reply, address)
    })

    pages.post<PageRoute>(`${ENDPOINTS.interaction}/:uid/consent`, async (request, reply) => {
      const received = await receive(request, reply)
      if (received === undefined) return reply
      const { interaction, form } = received
      const account = await consentingAccount(interaction)
      if (account === undefined)
        return showSignIn(request, reply, interaction, { username: '', failed: false })
      const groups = groupScopes(interaction.scopes, catalogue)
      const ticked = postedTicks(groups, form)
      const toggled = form.get(TOGGLE_FIELD)
      if (toggled !== undefined)
        return showConsent(request, reply, interaction, {
          account,
          groups,
          ticked: toggleTicks(groups, ticked, toggled),
          toggled,
        })
      const granted = grantedScopes(interaction.scopes, groups, ticked)
      if (granted === undefined)
        return showConsent(request, reply, interaction, { account, groups, ticked, nothingChosen: true })
      const address = await interactions.consented(request.raw, reply.raw, granted)
      onEvent({
        kind: 'consent_given',
        clientId: interaction.client.id,
        accountId: account.id,
        scopes: granted,
        origin: originOf(request),
      })
      return redirectAfterForm(reply, address)
    })

    pages.post<PageRoute>(`${ENDPOINTS.interaction}/:uid/cancel`, async (request, reply) => {
      const received = await receive(request, reply)
      if (received === undefined) return reply
      const { client, accountId } = received.interaction
      const address = await interactions.denied(request.raw, reply.raw)
      onEvent({ kind: 'consent_denied', clientId: client.id, accountId, origin: originOf(request) })
      return redirectAfterForm(reply, address)
    })
  })
}

function pathOf(interaction: Interaction): string {
  return `${ENDPOINTS.interaction}/${encodeURIComponent(interaction.uid)}`
}
