import type { FastifyInstance, FastifyReply } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { Form } from '../../platform/pages/read-form.ts'
import type { Account, Accounts, VerifiedAccount } from '../accounts/accounts.ts'
import type { PasswordProof, SecondFactors } from '../accounts/second-factors.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import type { Authentication, Interaction } from '../engine/interactions.ts'
import { originOf } from '../pages/form-pages.ts'
import { message } from '../pages/messages/message.ts'
import { type PageReply, redirectAfterForm } from '../pages/page-reply.ts'
import type { PageRequest, PageRoute, SignInProblem } from '../pages/provider-pages.ts'
import type { Page } from '../pages/render-page.ts'
import type { ThrottledAttempt } from '../sign-in/sign-in-throttle.ts'
import type { CodeThrottle } from './code-throttle.ts'
import { codePage, recoveryCodesPage, setUpPage } from './second-factor-page.ts'

export type SecondFactorSettings = {
  readonly factors: SecondFactors
  /** If true, a person without a second factor sets up a second factor at the next sign-in. */
  readonly required: boolean
  /** The authentication context class of a sign-in with two factors. */
  readonly acr: string
}

export type SecondFactorStepOptions = SecondFactorSettings & {
  readonly accounts: Pick<Accounts, 'find'>
  readonly throttle: CodeThrottle
  readonly serviceName: string
  readonly onEvent: (event: EngineEvent) => void
  readonly begin: (
    request: PageRequest,
    interaction: Interaction,
  ) => {
    readonly shared: {
      readonly locale: PageReply['locale']
      readonly formToken: string
      readonly path: string
    }
    readonly send: (
      reply: FastifyReply,
      page: Pick<Page, 'title' | 'body'>,
      shown: Pick<PageReply, 'status' | 'formTargets'>,
    ) => FastifyReply
  }
  /** Returns the allowed targets of forms that can end the authorization. */
  readonly formTargets: (interaction: Interaction) => readonly string[] | undefined
  readonly receive: (
    request: PageRequest,
    reply: FastifyReply,
  ) => Promise<{ readonly interaction: Interaction; readonly form: Form } | undefined>
  readonly rejectThrottled: (
    request: PageRequest,
    reply: FastifyReply,
    throttled: ThrottledAttempt,
  ) => FastifyReply
  readonly showSignIn: (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    problem: SignInProblem,
  ) => FastifyReply
  /**
   * Signs the person in.
   * @returns the URL for the redirect.
   */
  readonly complete: (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    signIn: Authentication & { readonly account: Account; readonly secondFactor: 'otp' | 'recovery_code' },
  ) => Promise<string>
}

export type SecondFactorStep = {
  /**
   * Sends the next page after a correct password.
   * @returns false if the person needs no second factor. The function does not return the reply, because `await` on a
   * reply waits for the end of the response and gives undefined.
   */
  afterPassword(
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    account: VerifiedAccount,
  ): Promise<boolean>
  /**
   * If a session is sufficient without a password, sends the page for the code.
   * @returns false if the session is not sufficient.
   */
  stepUp(request: PageRequest, reply: FastifyReply, interaction: Interaction): Promise<boolean>
  mount(pages: FastifyInstance): void
}

/** The person whose code the server expects. */
type Holder = {
  readonly account: Account
  readonly proof: PasswordProof | undefined
  readonly text: string | undefined
  /** Time at which the person typed the password. Undefined if the person typed the password in this sign-in. */
  readonly authTimeSeconds: number | undefined
  readonly endMark: string
}

/**
 * Creates the steps of a sign-in after the password: POST /oauth/interaction/:uid/second-factor receives a code, and
 * POST …/second-factor/set-up receives the first code of a new second factor.
 * The forms contain the proof of the correct password. The proof is valid for one interaction and for 15 minutes, until
 * the password changes.
 */
export function createSecondFactorStep(options: SecondFactorStepOptions): SecondFactorStep {
  const { accounts, acr, factors, onEvent, required, serviceName, throttle } = options

  const showCode = (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    state: {
      readonly account: Account
      readonly proof: string | undefined
      readonly problem?: 'secondFactor.wrong' | 'secondFactor.alreadySet'
    },
  ): FastifyReply => {
    const { shared, send } = options.begin(request, interaction)
    const { locale, formToken, path } = shared
    const page = codePage({
      ...state,
      locale,
      formToken,
      problem: state.problem && message(locale, state.problem),
      path: `${path}/second-factor`,
      cancelPath: `${path}/cancel`,
    })
    return send(reply, page, {
      status: state.problem === undefined ? 200 : 400,
      formTargets: options.formTargets(interaction),
    })
  }

  const showSetUp = async (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    state: { readonly account: Account; readonly proof: string; readonly isWrong: boolean },
  ): Promise<FastifyReply> => {
    const { shared, send } = options.begin(request, interaction)
    const { locale, formToken, path } = shared
    const opened = await factors.readProof(state.proof, placeOf(interaction))
    if (opened?.secret === undefined) return options.showSignIn(request, reply, interaction, EXPIRED)
    const page = setUpPage({
      ...state,
      secret: opened.secret,
      serviceName,
      required: true,
      locale,
      formToken,
      problem: state.isWrong ? message(locale, 'secondFactor.wrong') : undefined,
      path: `${path}/second-factor/set-up`,
      cancelPath: `${path}/cancel`,
    })
    return send(reply, page, {
      status: state.isWrong ? 400 : 200,
      formTargets: options.formTargets(interaction),
    })
  }

  /** Returns the account of a session that needs only a code. */
  const findStepUp = async (interaction: Interaction): Promise<Account | undefined> => {
    const { requested, stepUp } = interaction
    if (stepUp === undefined) return undefined
    if (!(requested.acrValues?.split(' ').includes(acr) ?? required)) return undefined
    const account = await accounts.find(stepUp.accountId)
    return account?.provider === undefined && account?.hasSecondFactor === true ? account : undefined
  }

  const findHolder = async (interaction: Interaction, form: Form): Promise<Holder | undefined> => {
    const text = form.get('proof')
    if (text === undefined) {
      const account = await findStepUp(interaction)
      const { signedInSeconds: authTimeSeconds, endMark = '' } = interaction.stepUp ?? {}
      return account && { account, proof: undefined, text, authTimeSeconds, endMark }
    }
    const proof = await factors.readProof(text, placeOf(interaction))
    const account = proof && (await accounts.find(proof.accountId))
    return account && { account, proof, text, authTimeSeconds: undefined, endMark: proof.endMark }
  }

  /**
   * Reads a form, finds the person, and counts the attempt.
   * @returns undefined after a page of a failed check.
   */
  const receive = async (
    request: PageRequest,
    reply: FastifyReply,
  ): Promise<
    { readonly interaction: Interaction; readonly holder: Holder; readonly code: string } | undefined
  > => {
    const received = await options.receive(request, reply)
    if (received === undefined) return undefined
    const { interaction, form } = received
    const holder = await findHolder(interaction, form)
    if (holder === undefined) {
      options.showSignIn(request, reply, interaction, EXPIRED)
      return undefined
    }
    const throttled = await throttle.attempt(holder.account.id)
    if (throttled !== undefined) {
      options.rejectThrottled(request, reply, throttled)
      return undefined
    }
    return { interaction, holder, code: form.get('code') ?? '' }
  }

  const reportWrong = (request: PageRequest, interaction: Interaction, { account }: Holder): void =>
    onEvent({
      kind: 'sign_in_failed',
      clientId: interaction.client.id,
      accountId: account.id,
      reason: 'wrong_code',
      origin: originOf(request),
    })

  const complete = (
    request: PageRequest,
    reply: FastifyReply,
    interaction: Interaction,
    { account, authTimeSeconds, endMark }: Holder,
    secondFactor: 'otp' | 'recovery_code',
  ): Promise<string> =>
    options.complete(request, reply, interaction, {
      account,
      acr,
      // RFC 8176 has no value for recovery codes.
      amr: secondFactor === 'otp' ? ['pwd', 'otp', 'mfa'] : ['pwd', 'mfa'],
      authTimeSeconds,
      endMark,
      secondFactor,
    })

  return {
    afterPassword: async (request, reply, interaction, account) => {
      const step = account.hasSecondFactor === true ? 'code' : 'set-up'
      if (step === 'set-up' && !required) return false
      const proof = await factors.issueProof(account.id, placeOf(interaction), step, account.endMark)
      if (proof === undefined) options.showSignIn(request, reply, interaction, EXPIRED)
      else if (step === 'code') showCode(request, reply, interaction, { account, proof })
      else await showSetUp(request, reply, interaction, { account, proof, isWrong: false })
      return true
    },

    stepUp: async (request, reply, interaction) => {
      const account = await findStepUp(interaction)
      if (account === undefined) return false
      showCode(request, reply, interaction, { account, proof: undefined })
      return true
    },

    mount(pages) {
      const path = `${ENDPOINTS.interaction}/:uid/second-factor`
      pages.post<PageRoute>(path, async (request, reply) => {
        const received = await receive(request, reply)
        if (received === undefined) return reply
        const { interaction, holder, code } = received
        const result = await factors.useCode(holder.account.id, code)
        if (result === 'none') return options.showSignIn(request, reply, interaction, EXPIRED)
        if (result === 'wrong') {
          reportWrong(request, interaction, holder)
          const { account, text: proof } = holder
          return showCode(request, reply, interaction, { account, proof, problem: 'secondFactor.wrong' })
        }
        await throttle.succeeded(holder.account.id)
        return redirectAfterForm(reply, await complete(request, reply, interaction, holder, result))
      })

      pages.post<PageRoute>(`${path}/set-up`, async (request, reply) => {
        const received = await receive(request, reply)
        if (received === undefined) return reply
        const { interaction, holder, code } = received
        const { account, proof, text } = holder
        if (proof === undefined || text === undefined)
          return options.showSignIn(request, reply, interaction, EXPIRED)
        const codes = await factors.set(proof, code)
        if (codes === 'outdated') {
          const next = await factors.issueProof(account.id, placeOf(interaction), 'code', proof.endMark)
          return showCode(request, reply, interaction, {
            account,
            proof: next,
            problem: 'secondFactor.alreadySet',
          })
        }
        if (codes === 'wrong') {
          reportWrong(request, interaction, holder)
          return showSetUp(request, reply, interaction, { account, proof: text, isWrong: true })
        }
        await throttle.succeeded(account.id)
        onEvent({ kind: 'second_factor_set', accountId: account.id, origin: originOf(request) })
        const nextAddress = await complete(request, reply, interaction, holder, 'otp')
        const { shared, send } = options.begin(request, interaction)
        return send(reply, recoveryCodesPage(shared.locale, { codes, nextAddress }), {
          status: 200,
          formTargets: [],
        })
      })
    },
  }
}

function placeOf({ uid }: Interaction): string {
  return `interaction ${uid}`
}

const EXPIRED: SignInProblem = {
  status: 400,
  text: (locale) => message(locale, 'secondFactor.expired'),
}
