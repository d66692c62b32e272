import type { SecretFiles } from '../../platform/config/secret-files.ts'

/** A client secret of the gateway. The secret changes when the file of the secret changes. */
export type ClientSecret = {
  readonly current: string
  /**
   * Reads the file now. Call this after the server has rejected the secret.
   * @param rejected the secret that the server rejected.
   * @returns whether the current secret differs from `rejected`.
   */
  refresh(rejected: string): Promise<boolean>
}

/** Follows the file of a client secret. */
export function followClientSecret(options: {
  readonly file: string
  /** Name of the setting with the path. */
  readonly setting: string
  /** The secret at the start of the process. */
  readonly secret: string
  /** Returns the secret in the content of the file. Throws a `BootError` if the content is not usable. */
  readonly parse: (text: string) => string
  readonly files: Pick<SecretFiles, 'follow'>
}): ClientSecret {
  let current = options.secret
  const followed = options.files.follow({
    setting: options.setting,
    file: options.file,
    apply(text) {
      const secret = options.parse(text)
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
