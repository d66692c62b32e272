import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { Html } from '../../platform/pages/html.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import type { Interaction, Interactions } from '../engine/interactions.ts'
import { requestSource } from '../engine/request-source.ts'
import type { AuthenticationRequest, ProviderClient } from '../sign-in/provider-client.ts'
import { ProviderError, type ProviderErrorReason } from '../sign-in/provider-error.ts'
import { admitPerson } from '../sign-in/provider-profile.ts'
import type { SignInAttempts } from '../sign-in/sign-in-attempts.ts'
import { type FormPages, originOf } from './form-pages.ts'
import { type Locale, message } from './messages/message.ts'
import { redirectAfterForm } from './page-reply.ts'

export type ProviderSignIn = {
  readonly clients: ReadonlyMap<string, ProviderClient>
  readonly attempts: SignInAttempts
  readonly accounts: Pick<Accounts, 'signInFromProvider'>
}

export type ProviderPagesOptions = ProviderSignIn & {
  readonly interactions: Interactions
  readonly forms: Pick<FormPages, 'tokens' | 'sendError'>
  readonly serviceName: string
  readonly nowSeconds: () => number
  readonly onEvent: (event: EngineEvent) => void
  /**
   * Reads a posted form.
   * @returns undefined after the error page of a failed check.
   */
  readonly receive: (
    request: PageRequest,
    reply: FastifyReply,
  ) => Promise<{ readonly interaction: Interaction } | undefined>
  /** Sends the sign-in page with the reason of a failure. The person can choose another way to sign in. */
  readonly showProblem: (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    problem: SignInProblem,
  ) => FastifyReply
}

/** The status of the page, and the text in the language of the page. */
export type SignInProblem = { readonly status: number; readonly text: (locale: Locale) => Html }

/** A route of the pages. `name` is the name of a provider. */
export type PageRoute = {
  Params: { uid: string; name?: string }
  Querystring: { account?: unknown }
}
export type PageRequest = FastifyRequest<PageRoute>

/** Path of the response of a provider, below the path of the interaction. */
const RESPONSE_STEP = 'provider-response'

/**
 * Mounts the steps of a sign-in through a provider. POST /oauth/interaction/:uid/provider/:name redirects to the
 * provider. GET /oauth/sign-in/:name/callback receives the response of the provider. The browser sends the cookies of
 * the interaction only to the path of the interaction. The callback therefore redirects to GET
 * /oauth/interaction/:uid/provider-response. This last step checks the response and signs the person in. All steps need
 * the cookie of the browser that started the sign-in. The last step can run once.
 */
export function registerProviderPages(pages: FastifyInstance, options: ProviderPagesOptions): void {
  const { attempts, clients, forms, interactions, onEvent, serviceName } = options

  const fail = (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    client: ProviderClient,
    { reason, detail }: ProviderError,
  ): FastifyReply => {
    const { name, title } = client.provider
    const clientId = interaction.client.id
    onEvent({
      kind: 'sign_in_failed',
      clientId,
      provider: name,
      reason,
      detail,
      origin: originOf(request),
    })
    const { status, text } = PROBLEMS[reason]
    return options.showProblem(request, reply, interaction, {
      status,
      text: (locale) => text(locale, title, serviceName),
    })
  }

  pages.post<PageRoute>(`${ENDPOINTS.interaction}/:uid/provider/:name`, async (request, reply) => {
    const received = await options.receive(request, reply)
    if (received === undefined) return reply
    const { interaction } = received
    const client = clients.get(request.params.name ?? '')
    if (client === undefined) return options.showProblem(request, reply, interaction, UNKNOWN_PROVIDER)
    const browser = forms.tokens.readCookie(request.headers.cookie).value
    const attempt = {
      interaction: interaction.uid,
      provider: client.provider.name,
      issuer: client.provider.issuer,
      startedAtSeconds: options.nowSeconds(),
      maxAgeSeconds: interaction.requested.maxAgeSeconds,
      isNewAuthentication: interaction.requested.prompt.includes('login'),
    }
    const secrets = await attempts.start(attempt, browser, requestSource({ clientAddress: request.ip }))
    try {
      const address = await client.authorizationUrl(secrets, authenticationRequest(interaction))
      return redirectAfterForm(reply, address.href)
    } catch (error) {
      if (error instanceof ProviderError) return fail(request, reply, interaction, client, error)
      throw error
    }
  })

  pages.get<PageRoute>(`${ENDPOINTS.signIn}/:name/callback`, NO_HEAD, async (request, reply) => {
    const query = queryOf(request)
    const [state = '', ...others] = new URLSearchParams(query).getAll('state')
    const attempt = others.length === 0 ? await attempts.find(state) : undefined
    if (attempt === undefined || attempt.provider !== request.params.name)
      return forms.sendError(reply, { status: 400, ...EXPIRED })
    const browser = forms.tokens.readCookie(request.headers.cookie).value
    if (!(await attempts.isOfBrowser(state, browser)))
      return forms.sendError(reply, { status: 403, ...OTHER_BROWSER })
    const path = `${ENDPOINTS.interaction}/${encodeURIComponent(attempt.interaction)}/${RESPONSE_STEP}`
    return redirectAfterForm(reply, `${path}?${query}`)
  })

  pages.get<PageRoute>(`${ENDPOINTS.interaction}/:uid/${RESPONSE_STEP}`, NO_HEAD, async (request, reply) => {
    const interaction = await interactions.read(request.raw, reply.raw)
    const query = queryOf(request)
    const [state = '', ...others] = new URLSearchParams(query).getAll('state')
    const attempt = others.length === 0 ? await attempts.find(state) : undefined
    const client = attempt === undefined ? undefined : clients.get(attempt.provider)
    const isExpected = attempt?.interaction === interaction.uid && attempt.issuer === client?.provider.issuer
    if (attempt === undefined || client === undefined || !isExpected)
      return options.showProblem(request, reply, interaction, USED_RESPONSE)
    const browser = forms.tokens.readCookie(request.headers.cookie).value
    if (!(await attempts.isOfBrowser(state, browser)))
      return forms.sendError(reply, { status: 403, ...OTHER_BROWSER })
    if (!(await attempts.consume(state)))
      return options.showProblem(request, reply, interaction, USED_RESPONSE)
    const { provider } = client
    try {
      const identity = await client.complete(query, attempts.secrets(state, browser), {
        maxAgeSeconds: attempt.maxAgeSeconds,
        sinceSeconds: attempt.isNewAuthentication ? attempt.startedAtSeconds : undefined,
      })
      const { issuer, subject, acr, amr, authTimeSeconds } = identity
      const profile = admitPerson(provider, identity)
      const signedIn = await options.accounts.signInFromProvider({
        ...profile,
        identity: { issuer, subject, provider: provider.name },
      })
      if (signedIn === 'disabled') throw new ProviderError('disabled', 'account')
      const { id: accountId, endMark } = signedIn.account
      const origin = originOf(request)
      if (signedIn.isNew) onEvent({ kind: 'account_added', accountId, provider: provider.name, origin })
      const { address, signedOut } = await interactions.signedIn(request.raw, reply.raw, accountId, {
        acr,
        amr,
        endMark,
        // The clock of the provider may be ahead.
        authTimeSeconds:
          authTimeSeconds === undefined ? undefined : Math.min(authTimeSeconds, options.nowSeconds()),
      })
      const clientId = interaction.client.id
      if (signedOut !== undefined) onEvent({ kind: 'signed_out', clientId, accountId: signedOut, origin })
      onEvent({ kind: 'signed_in', clientId, accountId, provider: provider.name, origin })
      return redirectAfterForm(reply, address)
    } catch (error) {
      if (error instanceof ProviderError) return fail(request, reply, interaction, client, error)
      throw error
    }
  })
}

/** A HEAD request would consume the response of the provider. */
const NO_HEAD = { exposeHeadRoute: false }

const UNKNOWN_PROVIDER: SignInProblem = {
  status: 400,
  text: (locale) => message(locale, 'signIn.unknownProvider'),
}
const USED_RESPONSE: SignInProblem = {
  status: 400,
  text: (locale) => message(locale, 'signIn.usedResponse'),
}

const EXPIRED = {
  error: 'interaction_expired',
  description: 'The sign-in does not exist, has expired or is already complete.',
}
const OTHER_BROWSER = {
  error: 'other_browser',
  description: 'The cookie of this browser does not belong to the sign-in.',
}

type Problem = {
  readonly status: number
  readonly text: (locale: Locale, title: string, service: string) => Html
}

/** The status and the text for each failure. The text contains only names from the configuration. */
const PROBLEMS: Readonly<Record<ProviderErrorReason, Problem>> = {
  unavailable: {
    status: 503,
    text: (locale, title) => message(locale, 'signIn.unavailable', { title }),
  },
  invalid: {
    status: 502,
    text: (locale, title) => message(locale, 'signIn.invalid', { title }),
  },
  denied: {
    status: 400,
    text: (locale, title) => message(locale, 'signIn.denied', { title }),
  },
  not_admitted: {
    status: 403,
    text: (locale, title, service) => message(locale, 'signIn.notAdmitted', { title, service }),
  },
  disabled: {
    status: 403,
    text: (locale, _title, service) => message(locale, 'signIn.disabled', { service }),
  },
}

/** Values of `prompt` that a provider also gets. `consent` concerns only the client of this server. */
const FORWARDED_PROMPTS: readonly string[] = ['login', 'select_account']
const MAX_PARAMETER = 500

function authenticationRequest({ prompt: step, loginHint, requested }: Interaction): AuthenticationRequest {
  const { prompt, maxAgeSeconds, acrValues, uiLocales } = requested
  const asked = prompt.filter((value) => FORWARDED_PROMPTS.includes(value))
  return {
    // At the consent step, the person chose "Switch account". Without the prompt, the provider would select the account
    // of its session again.
    prompt: step === 'consent' && !asked.includes('select_account') ? [...asked, 'select_account'] : asked,
    maxAgeSeconds,
    loginHint: bounded(loginHint),
    acrValues: bounded(acrValues),
    uiLocales: bounded(uiLocales),
  }
}

function bounded(text: string | undefined): string | undefined {
  return text === undefined || text.length > MAX_PARAMETER ? undefined : text
}

function queryOf(request: FastifyRequest): string {
  const [, query = ''] = (request.raw.url ?? '').split(/\?(.*)/s)
  return query
}
