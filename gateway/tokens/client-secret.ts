import type { SecretFiles } from '../../platform/config/secret-files.ts'
import { parseClientSecret } from '../config/read-secrets.ts'

/** The client secret of the gateway at an issuer. The secret changes when the file of the secret changes. */
export type ClientSecret = {
  readonly current: string
  /**
   * Reads the file now. Call this after the issuer has rejected the secret.
   * @param rejected the secret that the issuer rejected.
   * @returns whether the current secret differs from `rejected`.
   */
  refresh(rejected: string): Promise<boolean>
}

/** Watches the file of a client secret. The first line of the file is the secret. */
export function followClientSecret(options: {
  readonly file: string
  /** Position of the issuer in `issuers`. */
  readonly index: number
  /** The secret at the start of the process. */
  readonly secret: string
  readonly files: Pick<SecretFiles, 'follow'>
}): ClientSecret {
  let current = options.secret
  const followed = options.files.follow({
    setting: `issuers[${options.index}].introspection.clientSecretFile`,
    file: options.file,
    apply(text) {
      const secret = parseClientSecret(text, options)
      if (secret === current) return undefined
      current = secret
      return {}
    },
  })
  return {
    get current() {
      return current
    },
    async refresh(rejected) {
      if (current === rejected) await followed.check()
      return current !== rejected
    },
  }
}
