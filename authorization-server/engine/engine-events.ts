import type { ConsentReason } from './consent-step.ts'

export type RequestOrigin = {
  readonly requestId: string
  /** Address of the client, as the gateway determined it from its `trustedProxies`. */
  readonly clientAddress: string
}

/** An event for the audit log and the metrics, without secrets. `origin` is undefined outside a request. */
export type EngineEvent = EventDetails & { readonly origin: RequestOrigin | undefined }

type EventDetails =
  | {
      readonly kind: 'signed_in'
      readonly clientId: string
      readonly accountId: string
      /** Name of the OpenID provider. Undefined: a local account. */
      readonly provider?: string
      /** The second factor of the sign-in. Undefined for a sign-in with only a password, or through a provider. */
      readonly secondFactor?: 'otp' | 'recovery_code' | undefined
    }
  /** A person set up, replaced or removed the second factor of an account, or replaced its recovery codes. */
  | {
      readonly kind: 'second_factor_set' | 'second_factor_removed' | 'recovery_codes_created'
      readonly accountId: string
    }
  /** The first sign-in through an OpenID provider created an account. */
  | { readonly kind: 'account_added'; readonly accountId: string; readonly provider: string }
  /** A person set the password of an account with a one-time link. */
  | {
      readonly kind: 'password_set'
      readonly accountId: string
      readonly purpose: 'invitation' | 'reset'
    }
  /** A sign-in through an OpenID provider failed. `detail` is for the log only. */
  | {
      readonly kind: 'sign_in_failed'
      readonly clientId: string
      readonly provider: string
      readonly reason: 'unavailable' | 'invalid' | 'denied' | 'not_admitted' | 'disabled'
      readonly detail: string
    }
  | {
      readonly kind: 'sign_in_failed'
      readonly clientId: string
      /**
       * Account with the typed name. Undefined: no such account. The event omits the name, because people type
       * passwords in that field.
       */
      readonly accountId: string | undefined
      readonly reason: 'wrong_credentials' | 'wrong_code' | 'busy'
    }
  /**
   * The server rejected a sign-in attempt with 429. `isFirst`: the first rejected attempt of this counter in the time
   * window.
   */
  | { readonly kind: 'sign_in_throttled'; readonly isFirst: boolean }
  /** The session of the account in a browser ended: the person signed out, or another person signed in. */
  | { readonly kind: 'signed_out'; readonly clientId: string | undefined; readonly accountId: string }
  | {
      readonly kind: 'client_registered'
      readonly clientId: string
      readonly redirectUris: readonly string[]
    }
  | {
      readonly kind: 'consent_given'
      readonly clientId: string
      readonly accountId: string
      readonly scopes: readonly string[]
      /** The reason for a grant without the consent page. Undefined: the person allowed the access on the page. */
      readonly reason?: ConsentReason
    }
  | { readonly kind: 'consent_denied'; readonly clientId: string; readonly accountId: string | undefined }
  | {
      readonly kind: 'token_issued' | 'token_refreshed'
      readonly clientId: string
      readonly accountId: string | undefined
      readonly scope: string | undefined
      readonly grant: string | undefined
      /** True: a token of the canary, which has a new grant without a consent. */
      readonly isCanary?: boolean
    }
  /** A repeated refresh request got the response of the first request. */
  | {
      readonly kind: 'refresh_repeated'
      readonly clientId: string
      readonly accountId: string | undefined
      readonly grant: string | undefined
    }
  | {
      readonly kind: 'grant_revoked'
      readonly clientId: string | undefined
      readonly accountId: string | undefined
      readonly grant: string
      /** `access_removed`: the person removed the access of the client on the account page. */
      readonly reason: 'revoked' | 'code_reused' | 'refresh_token_reused' | 'grant_ended' | 'access_removed'
    }
  /** A request was rejected. `detail` is for the log only. */
  | {
      readonly kind: 'rejected'
      readonly endpoint: string
      readonly error: string
      readonly detail: string | undefined
      readonly clientId: string | undefined
    }
  | { readonly kind: 'failed'; readonly endpoint: string; readonly cause: Error }
