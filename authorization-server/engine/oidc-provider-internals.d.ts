/** Modules of oidc-provider without types. `proof-nonces.ts` uses these modules. */

declare module 'oidc-provider/lib/helpers/challenge.js' {
  /** Nonces for DPoP proofs. RFC 9449 section 8. */
  export default class ServerChallenge {
    constructor(secret: Buffer, info: string)
    nextChallenge(): string
    checkChallenge(nonce: string): boolean
  }
}

declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  type Nonces = { nextChallenge(): string; checkChallenge(nonce: string): boolean }
  /** Returns the internal state of a `Provider`. */
  export default function internalsOf(provider: object): { DPoPNonces?: Nonces } | undefined
}
