/**
 * - `unavailable`: the provider does not respond, or reports a failure of its own.
 * - `invalid`: the response of the provider failed a check.
 * - `denied`: the provider reports that the person did not sign in.
 * - `not_admitted`: the rules of `admit` exclude the person.
 * - `disabled`: an operator disabled the account.
 */
export type ProviderErrorReason = 'unavailable' | 'invalid' | 'denied' | 'not_admitted' | 'disabled'

/** A failed sign-in through a provider. `detail` is for the log: fixed words, without values of the provider. */
export class ProviderError extends Error {
  readonly reason: ProviderErrorReason
  readonly detail: string

  constructor(reason: ProviderErrorReason, detail: string, options?: { readonly cause?: unknown }) {
    super(`sign-in through the provider failed: ${reason} (${detail})`, options)
    this.name = 'ProviderError'
    this.reason = reason
    this.detail = detail
  }
}
