/** Something that happened and that the audit log, the metrics or the gateways want to know. No secrets in here. */
export type EngineEvent =
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
    }
  | { readonly kind: 'consent_denied'; readonly clientId: string; readonly accountId: string | undefined }
  | {
      readonly kind: 'token_issued' | 'token_refreshed'
      readonly clientId: string
      readonly accountId: string | undefined
      readonly scope: string | undefined
      readonly grant: string | undefined
    }
  /** A repeated refresh got the response of the first one. */
  | {
      readonly kind: 'refresh_repeated'
      readonly clientId: string
      readonly accountId: string | undefined
      readonly grant: string | undefined
    }
  | {
      readonly kind: 'grant_revoked'
      readonly clientId: string | undefined
      readonly grant: string
      readonly reason: 'revoked' | 'code_reused' | 'refresh_token_reused' | 'signed_out'
    }
  /** A request was refused; `detail` is for the log only. */
  | {
      readonly kind: 'refused'
      readonly endpoint: string
      readonly error: string
      readonly detail: string | undefined
      readonly clientId: string | undefined
    }
  | { readonly kind: 'failed'; readonly endpoint: string; readonly cause: Error }
