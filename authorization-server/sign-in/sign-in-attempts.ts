import { createHmac, randomBytes } from 'node:crypto'
import { hashId } from '../store/artifact-record.ts'
import type { ArtifactBound, ArtifactSource, ArtifactStore } from '../store/store.ts'
import type { AttemptSecrets } from './provider-client.ts'

/** A sign-in that the person continues at a provider. */
export type SignInAttempt = {
  /** Id of the interaction. */
  readonly interaction: string
  /**
   * Name of the provider. The server checks the response as a response of this provider, even if the response names
   * another provider.
   */
  readonly provider: string
  /** Issuer of the provider. After a restart, the name of the provider can belong to another issuer. */
  readonly issuer: string
  readonly startedAtSeconds: number
  readonly maxAgeSeconds: number | undefined
  readonly isNewAuthentication: boolean
}

export type SignInAttempts = {
  /** Stores an attempt for the browser with this cookie. */
  start(attempt: SignInAttempt, browser: string, source: ArtifactSource): Promise<AttemptSecrets>
  /** Finds an attempt that has not expired and was not consumed. */
  find(state: string): Promise<SignInAttempt | undefined>
  /** Returns whether the browser with this cookie started the attempt. */
  isOfBrowser(state: string, browser: string): Promise<boolean>
  /**
   * Consumes an attempt.
   * @returns true exactly once for each attempt.
   */
  consume(state: string): Promise<boolean>
  /** Returns the secrets of an attempt. A wrong cookie gives wrong secrets. */
  secrets(state: string, browser: string): AttemptSecrets
}

export const ATTEMPT_MODEL = 'SignInAttempt'

const STATE = /^[A-Za-z0-9_-]{43}$/
const STATE_BYTES = 32

/**
 * Creates the attempts. The store has only the hash of `state`. The nonce and the PKCE verifier derive from `state` and
 * the cookie of the browser, and the store contains neither the nonce nor the verifier. A copy of the store therefore
 * completes no sign-in.
 */
export function createSignInAttempts(options: {
  readonly artifacts: ArtifactStore
  readonly expiresInSeconds: number
  readonly bound: ArtifactBound
}): SignInAttempts {
  const { artifacts } = options
  const read = async (state: string) => {
    const stored = STATE.test(state) ? await artifacts.find(state) : undefined
    return stored?.['consumed'] === undefined ? stored : undefined
  }
  const secrets = (state: string, browser: string): AttemptSecrets => ({
    state,
    nonce: derive('nonce', state, browser),
    codeVerifier: derive('code verifier', state, browser),
  })
  return {
    secrets,
    start: async (attempt, browser, source) => {
      const state = randomBytes(STATE_BYTES).toString('base64url')
      const payload = { ...attempt, browser: hashId(browser) }
      const { expiresInSeconds, bound } = options
      await artifacts.upsertBounded(state, payload, expiresInSeconds, { source, bound })
      return secrets(state, browser)
    },
    find: async (state) => {
      const stored = await read(state)
      if (stored === undefined) return undefined
      const { maxAgeSeconds } = stored
      return {
        interaction: String(stored['interaction']),
        provider: String(stored['provider']),
        issuer: String(stored['issuer']),
        startedAtSeconds: Number(stored['startedAtSeconds']),
        maxAgeSeconds: typeof maxAgeSeconds === 'number' ? maxAgeSeconds : undefined,
        isNewAuthentication: stored['isNewAuthentication'] === true,
      }
    },
    isOfBrowser: async (state, browser) => (await read(state))?.['browser'] === hashId(browser),
    consume: async (state) => STATE.test(state) && artifacts.consume(state),
  }
}

function derive(purpose: string, state: string, browser: string): string {
  return createHmac('sha256', browser).update(`scopegate sign-in ${purpose}\n${state}`).digest('base64url')
}
