import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { Form } from '../../platform/pages/read-form.ts'
import { createSemaphore } from '../../platform/semaphore.ts'
import type { Account, Accounts } from '../accounts/accounts.ts'
import { ACCOUNT_CLIENT_ID } from '../config.ts'
import type { BrowserSession, BrowserSessions } from '../engine/browser-session.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import { createFormPages, type FormPagesOptions, originOf } from '../pages/form-pages.ts'
import { INTERACTION_LIMITS } from '../pages/interaction-limits.ts'
import type { MessageKey } from '../pages/messages/en.ts'
import { message } from '../pages/messages/message.ts'
import { localeOf, redirectAfterForm } from '../pages/page-reply.ts'
import type { Page } from '../pages/render-page.ts'
import { createSharedThrottle } from '../sign-in/shared-throttle.ts'
import type { ThrottledAttempt } from '../sign-in/sign-in-throttle.ts'
import { endSessions } from '../store/end-sessions.ts'
import type { AttemptCounters, Store } from '../store/store.ts'
import { createCodeThrottle } from './code-throttle.ts'
import { manageSecondFactorPage, recoveryCodesPage, setUpPage } from './second-factor-page.ts'
import type { SecondFactorSettings } from './second-factor-step.ts'

export type AccountSecondFactorPagesOptions = FormPagesOptions &
  SecondFactorSettings & {
    readonly sessions: BrowserSessions
    readonly accounts: Pick<Accounts, 'find' | 'verify'>
    readonly store: Pick<Store, 'artifacts'>
    readonly attempts: AttemptCounters | undefined
    readonly nowMs: () => number
    readonly onEvent: (event: EngineEvent) => void
  }

/** The signed-in person has a local account. */
type SignedIn = { readonly session: BrowserSession; readonly account: Account }

export const SECOND_FACTOR_PATH = `${ENDPOINTS.account}/second-factor`
const BODY_LIMIT_BYTES = 4_096
const MAX_QUEUE = 8

/**
 * Mounts the pages on which a signed-in person manages the second factor of a local account.
 * GET /oauth/account/second-factor shows the state. POST …/set-up, …/recovery-codes and …/remove require the password,
 * and a code if the account has a second factor. POST …/confirm receives the first code of a new second factor.
 */
export function registerAccountSecondFactorPages(
  app: FastifyInstance,
  options: AccountSecondFactorPagesOptions,
): void {
  const { accounts, attempts, factors, nowMs, onEvent, required, serviceName, sessions, store } = options
  const forms = createFormPages(options)
  const passwords = createSharedThrottle({
    purpose: 'sign-in',
    limits: INTERACTION_LIMITS.signIn,
    counters: attempts,
    nowMs,
  })
  const codes = createCodeThrottle({ counters: attempts, nowMs })
  const hashing = createSemaphore({ maxConcurrent: 1, maxQueue: MAX_QUEUE })

  const readSignedIn = async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<SignedIn | undefined> => {
    const session = await sessions.read(request.raw, reply.raw)
    const account = session && (await accounts.find(session.accountId))
    return session === undefined || account === undefined || account.provider !== undefined
      ? undefined
      : { session, account }
  }

  const send = (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    render: (formToken: string) => Pick<Page, 'title' | 'body'>,
    { session }: SignedIn,
  ): FastifyReply => {
    const cookie = forms.tokens.readCookie(request.headers.cookie)
    const page = render(forms.tokens.issue(session.uid, cookie.value))
    return forms.send(reply, page, { status, formTargets: ["'self'"], setCookie: cookie.setCookie })
  }

  const showState = async (
    request: FastifyRequest,
    reply: FastifyReply,
    signedIn: SignedIn,
    problem?: MessageKey & `secondFactor.${'wrongEither' | 'wrongPassword' | 'outdated'}`,
  ): Promise<FastifyReply> => {
    const { account } = signedIn
    const locale = localeOf(request)
    const present = await factors.find(account.id)
    return send(
      request,
      reply,
      problem === undefined ? 200 : 400,
      (formToken) =>
        manageSecondFactorPage({
          locale,
          account,
          present: present && {
            since: new Date(present.setAtSeconds * 1_000).toISOString().slice(0, 10),
            recoveryCodesLeft: present.recoveryCodesLeft,
          },
          canRemove: !required,
          problem: problem && message(locale, problem),
          formToken,
          path: SECOND_FACTOR_PATH,
          accountPath: ENDPOINTS.account,
        }),
      signedIn,
    )
  }

  const showSetUp = async (
    request: FastifyRequest,
    reply: FastifyReply,
    signedIn: SignedIn,
    proof: string,
    isWrong: boolean,
  ): Promise<FastifyReply> => {
    const { account } = signedIn
    const locale = localeOf(request)
    const opened = await factors.readProof(proof, placeOf(signedIn))
    const secret = opened?.secret
    if (secret === undefined) return showState(request, reply, signedIn, 'secondFactor.outdated')
    const render = (formToken: string) =>
      setUpPage({
        locale,
        account,
        serviceName,
        secret,
        required: false,
        formToken,
        proof,
        problem: isWrong ? message(locale, 'secondFactor.wrong') : undefined,
        path: `${SECOND_FACTOR_PATH}/confirm`,
      })
    return send(request, reply, isWrong ? 400 : 200, render, signedIn)
  }

  const showCodes = (request: FastifyRequest, reply: FastifyReply, recoveryCodes: readonly string[]) =>
    forms.send(
      reply,
      recoveryCodesPage(localeOf(request), { codes: recoveryCodes, nextAddress: SECOND_FACTOR_PATH }),
      { status: 200, formTargets: [] },
    )

  const rejectThrottled = (
    request: FastifyRequest,
    reply: FastifyReply,
    { isFirst, retryAfterSeconds }: ThrottledAttempt,
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
   * Performs the checks of every form.
   * @returns undefined after the page of a failed check. The function does not return the reply, because `await` on a
   * reply waits for the end of the response and gives undefined.
   */
  const receive = async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<(SignedIn & { readonly form: Form }) | undefined> => {
    const posted = forms.read(request, reply)
    if (!('form' in posted)) return undefined
    const signedIn = await readSignedIn(request, reply)
    if (signedIn === undefined) {
      redirectAfterForm(reply, ENDPOINTS.account)
      return undefined
    }
    const rejected = forms.rejectForeign(request, reply, posted.form, signedIn.session.uid)
    return rejected === undefined ? { ...signedIn, ...posted } : undefined
  }

  /**
   * Also checks the password, and a code of the present second factor.
   * @returns undefined after the page of a failed check. `withCode` is true if the account has a second factor. The
   * code was then correct.
   */
  const receiveAuthenticated = async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<(SignedIn & { readonly withCode: boolean }) | undefined> => {
    const received = await receive(request, reply)
    if (received === undefined) return undefined
    const { account, form } = received
    const throttled = await passwords.attempt(account.username, request.ip)
    if (throttled !== undefined) {
      rejectThrottled(request, reply, throttled)
      return undefined
    }
    const verified = hashing.run(() => accounts.verify(account.username, form.get('password') ?? ''))
    if (verified === undefined) {
      reportFailed(request, account, 'busy')
      forms.sendError(reply, {
        status: 503,
        error: 'busy',
        description: 'Too many concurrent sign-ins.',
        retryAfterSeconds: 2,
      })
      return undefined
    }
    const isCorrect = (await verified)?.id === account.id
    const key = account.hasSecondFactor === true ? 'secondFactor.wrongEither' : 'secondFactor.wrongPassword'
    if (!isCorrect) {
      reportFailed(request, account, 'wrong_credentials')
      await showState(request, reply, received, key)
      return undefined
    }
    await passwords.succeeded(account.username, request.ip)
    const throttledCode = await codes.attempt(account.id)
    if (throttledCode !== undefined) {
      rejectThrottled(request, reply, throttledCode)
      return undefined
    }
    const result = await factors.useCode(account.id, form.get('code') ?? '')
    if (result === 'wrong') {
      reportFailed(request, account, 'wrong_code')
      await showState(request, reply, received, 'secondFactor.wrongEither')
      return undefined
    }
    await codes.succeeded(account.id)
    return { ...received, withCode: result !== 'none' }
  }

  forms.mount(app, BODY_LIMIT_BYTES, (pages) => {
    pages.get(SECOND_FACTOR_PATH, async (request, reply) => {
      const signedIn = await readSignedIn(request, reply)
      return signedIn === undefined
        ? redirectAfterForm(reply, ENDPOINTS.account)
        : showState(request, reply, signedIn)
    })

    pages.post(`${SECOND_FACTOR_PATH}/set-up`, async (request, reply) => {
      const received = await receiveAuthenticated(request, reply)
      if (received === undefined) return reply
      const step = received.withCode ? 'replace' : 'set-up'
      const proof = await factors.issueProof(received.account.id, placeOf(received), step)
      return proof === undefined
        ? redirectAfterForm(reply, ENDPOINTS.account)
        : showSetUp(request, reply, received, proof, false)
    })

    pages.post(`${SECOND_FACTOR_PATH}/confirm`, async (request, reply) => {
      const received = await receive(request, reply)
      if (received === undefined) return reply
      const { account, form } = received
      const text = form.get('proof') ?? ''
      const proof = await factors.readProof(text, placeOf(received))
      if (proof === undefined) return showState(request, reply, received, 'secondFactor.outdated')
      const throttled = await codes.attempt(account.id)
      if (throttled !== undefined) return rejectThrottled(request, reply, throttled)
      const result = await factors.set(proof, form.get('code') ?? '')
      if (result === 'outdated') return showState(request, reply, received, 'secondFactor.outdated')
      if (result === 'wrong') return showSetUp(request, reply, received, text, true)
      await codes.succeeded(account.id)
      // A thief of the password can have a session from before the second factor.
      await endSessions(store, account.id, received.session.uid)
      report(request, 'second_factor_set', account)
      return showCodes(request, reply, result)
    })

    pages.post(`${SECOND_FACTOR_PATH}/recovery-codes`, async (request, reply) => {
      const received = await receiveAuthenticated(request, reply)
      if (received === undefined) return reply
      const { account, withCode } = received
      const created = withCode ? await factors.replaceRecoveryCodes(account.id) : undefined
      if (created === undefined) return redirectAfterForm(reply, SECOND_FACTOR_PATH)
      report(request, 'recovery_codes_created', account)
      return showCodes(request, reply, created)
    })

    pages.post(`${SECOND_FACTOR_PATH}/remove`, async (request, reply) => {
      const received = await receiveAuthenticated(request, reply)
      if (received === undefined) return reply
      const { account, withCode } = received
      if (!required && withCode && (await factors.remove(account.id)))
        report(request, 'second_factor_removed', account)
      return redirectAfterForm(reply, SECOND_FACTOR_PATH)
    })
  })

  function report(
    request: FastifyRequest,
    kind: 'second_factor_set' | 'second_factor_removed' | 'recovery_codes_created',
    { id }: Account,
  ): void {
    onEvent({ kind, accountId: id, origin: originOf(request) })
  }

  function reportFailed(
    request: FastifyRequest,
    { id }: Account,
    reason: 'wrong_credentials' | 'wrong_code' | 'busy',
  ): void {
    onEvent({
      kind: 'sign_in_failed',
      clientId: ACCOUNT_CLIENT_ID,
      accountId: id,
      reason,
      origin: originOf(request),
    })
  }
}

/** A proof of another session is not valid. */
function placeOf({ session }: SignedIn): string {
  return `account ${session.uid}`
}
