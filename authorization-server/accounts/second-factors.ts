import { hash, randomBytes } from 'node:crypto'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { type AccountStore, type StoredAccount, StoreError } from '../store/store.ts'
import { decryptSecret, encryptSecret } from './encrypt-secret.ts'
import { encodeTotpSecret, TOTP_SECRET_BYTES, verifyTotp } from './totp.ts'

export type SecondFactorSummary = {
  readonly setAtSeconds: number
  readonly recoveryCodesLeft: number
}

/**
 * A person who typed the correct password of an account. The proof is valid for a time, and for one place such as an
 * interaction.
 */
export type PasswordProof = {
  readonly accountId: string
  /** The TOTP secret that the person sets up. If undefined, the person types a code of the present second factor. */
  readonly secret: Buffer | undefined
  /** ID of the second factor that `secret` replaces. Undefined if the account had no second factor. */
  readonly replaces: string | undefined
  /** See `VerifiedAccount`. */
  readonly endMark: string
}

/** Result of a typed code. `none` means that the account has no second factor. */
export type CodeResult = 'otp' | 'recovery_code' | 'wrong' | 'none'

/**
 * The second factors of local accounts: a TOTP secret and recovery codes. Each change is a compare-and-set in the
 * store, so no two servers accept the same code.
 */
export type SecondFactors = {
  find(accountId: string): Promise<SecondFactorSummary | undefined>
  /**
   * Creates a text that proves the correct password of an account. The text is encrypted, and the store does not
   * contain it.
   * @param place the text is valid only in this place.
   * @param step with `set-up` and `replace`, the text contains a new TOTP secret. With `set-up`, the server sets the
   * secret only while the account has no second factor.
   */
  issueProof(
    accountId: string,
    place: string,
    step: 'code' | 'set-up' | 'replace',
    endMark?: string,
  ): Promise<string | undefined>
  /**
   * Reads a result of `issueProof()`.
   * @returns undefined if the text is not valid in this place, has expired, or belongs to an earlier password.
   */
  readProof(text: string, place: string): Promise<PasswordProof | undefined>
  /** Checks a code. After a correct code, the same code is not valid again. */
  useCode(accountId: string, typed: string): Promise<CodeResult>
  /**
   * Sets the second factor of a proof if the code is correct.
   * @returns the recovery codes. `outdated` means that the second factor of the account has changed since the proof.
   */
  set(proof: PasswordProof, typed: string): Promise<readonly string[] | 'wrong' | 'outdated'>
  /** @returns undefined if the account has no second factor. */
  replaceRecoveryCodes(accountId: string): Promise<readonly string[] | undefined>
  /** @returns false if the account has no second factor. */
  remove(accountId: string): Promise<boolean>
  /**
   * Encrypts all secrets with the newest cookie key, so that the operator can remove earlier cookie keys.
   * @returns the number of secrets that changed.
   * @throws {StoreError} ERR_STORE_DAMAGED after the last account, if a second factor is damaged.
   */
  reencryptAll(): Promise<number>
}

/** The store contains a second factor as JSON. */
type StoredFactor = {
  readonly id: string
  /** The encrypted TOTP secret of the account. */
  readonly secret: string
  /** Time step of the last used code. Codes of this step and of earlier steps are not valid. */
  readonly lastStep: number
  /** Hashes of the unused recovery codes. */
  readonly recovery: readonly string[]
  readonly setAtSeconds: number
}

type ProofContent = {
  readonly accountId: string
  readonly atSeconds: number
  /** The result of `passwordTag()`. */
  readonly password: string
  /** The new TOTP secret in base64url. */
  readonly secret?: string
  readonly replaces?: string | undefined
  readonly endMark?: string
}

const ID_BYTES = 12
const RECOVERY_CODES = 10
/** A recovery code has 80 random bits. A plain hash in the store is therefore safe against guesses. */
const RECOVERY_CODE_BYTES = 10
const PROOF_SECONDS = 900
/**
 * Maximum number of attempts to write a second factor. An attempt fails if another request changed the second factor at
 * the same time.
 */
const MAX_RACES = 10
const ACCOUNTS_AT_ONCE = 500

/** @param options.cookieKeys returns the keys for the encryption, newest first. */
export function createSecondFactors(options: {
  readonly store: AccountStore
  readonly cookieKeys: () => readonly string[]
  readonly nowSeconds: () => number
}): SecondFactors {
  const { store, cookieKeys, nowSeconds } = options

  const read = async (accountId: string) => {
    const account = await store.findById(accountId)
    return { account, stored: account?.secondFactor, factor: parseFactor(account?.secondFactor) }
  }

  /**
   * Replaces the second factor. If another server changed the second factor at the same time, repeats the change.
   * @param change returns the new second factor, or the result without a change.
   */
  const replace = async <Result>(
    accountId: string,
    change: (
      factor: StoredFactor | undefined,
    ) => { readonly next: StoredFactor; readonly result: Result } | { readonly kept: Result },
  ): Promise<Result> => {
    for (let race = 0; race < MAX_RACES; race++) {
      const { stored, factor } = await read(accountId)
      const changed = change(factor)
      if ('kept' in changed) return changed.kept
      const next = JSON.stringify(changed.next)
      if (await store.setSecondFactor(accountId, stored, next)) return changed.result
    }
    throw tooManyRaces()
  }

  const useTotp = (factor: StoredFactor, accountId: string, code: string): StoredFactor | undefined => {
    const decrypted = decryptSecret(factor.secret, accountId, cookieKeys())
    const { lastStep } = factor
    const step = decrypted && verifyTotp({ ...decrypted, code, lastStep, nowSeconds: nowSeconds() })
    if (decrypted === undefined || step === undefined) return undefined
    const secret = decrypted.isOutdated
      ? encryptSecret(decrypted.secret, accountId, cookieKeys())
      : factor.secret
    return { ...factor, secret, lastStep: step }
  }

  return {
    find: async (accountId) => {
      const { factor } = await read(accountId)
      return factor && { setAtSeconds: factor.setAtSeconds, recoveryCodesLeft: factor.recovery.length }
    },
    issueProof: async (accountId, place, step, endMark = '') => {
      const { account, factor } = await read(accountId)
      if (account === undefined) return undefined
      const content: ProofContent = {
        accountId,
        atSeconds: nowSeconds(),
        password: passwordTag(account),
        endMark,
        ...(step === 'code' ? {} : { secret: randomBytes(TOTP_SECRET_BYTES).toString('base64url') }),
        ...(step === 'replace' ? { replaces: factor?.id } : {}),
      }
      return encryptSecret(Buffer.from(JSON.stringify(content)), proofContext(place), cookieKeys())
    },
    readProof: async (text, place) => {
      const decrypted = decryptSecret(text, proofContext(place), cookieKeys())
      if (decrypted === undefined) return undefined
      const content: ProofContent = JSON.parse(decrypted.secret.toString())
      const { accountId, atSeconds, password, secret, replaces, endMark = '' } = content
      if (nowSeconds() - atSeconds > PROOF_SECONDS) return undefined
      const account = await store.findById(accountId)
      if (account === undefined || passwordTag(account) !== password) return undefined
      return {
        accountId,
        secret: secret === undefined ? undefined : Buffer.from(secret, 'base64url'),
        replaces,
        endMark,
      }
    },
    useCode: (accountId, typed) =>
      replace<CodeResult>(accountId, (factor) => {
        if (factor === undefined) return { kept: 'none' }
        const used = useTotp(factor, accountId, typed)
        if (used !== undefined) return { next: used, result: 'otp' }
        const recovery = factor.recovery.filter((one) => one !== hashRecoveryCode(accountId, typed))
        return recovery.length === factor.recovery.length
          ? { kept: 'wrong' }
          : { next: { ...factor, recovery }, result: 'recovery_code' }
      }),
    set: ({ accountId, secret, replaces }, typed) =>
      replace<readonly string[] | 'wrong' | 'outdated'>(accountId, (factor) => {
        if (secret === undefined || factor?.id !== replaces) return { kept: 'outdated' }
        const now = nowSeconds()
        const lastStep = verifyTotp({ secret, code: typed, lastStep: undefined, nowSeconds: now })
        if (lastStep === undefined) return { kept: 'wrong' }
        const codes = newRecoveryCodes()
        const next = {
          id: randomBytes(ID_BYTES).toString('base64url'),
          secret: encryptSecret(secret, accountId, cookieKeys()),
          lastStep,
          recovery: codes.map((code) => hashRecoveryCode(accountId, code)),
          setAtSeconds: now,
        }
        return { next, result: codes }
      }),
    replaceRecoveryCodes: (accountId) =>
      replace<readonly string[] | undefined>(accountId, (factor) => {
        if (factor === undefined) return { kept: undefined }
        const codes = newRecoveryCodes()
        const recovery = codes.map((code) => hashRecoveryCode(accountId, code))
        return { next: { ...factor, recovery }, result: codes }
      }),
    remove: async (accountId) => {
      for (let race = 0; race < MAX_RACES; race++) {
        const account = await store.findById(accountId)
        // Does not parse the second factor, so that an operator can remove a damaged second factor.
        if (account?.secondFactor === undefined) return false
        if (await store.setSecondFactor(accountId, account.secondFactor, undefined)) return true
      }
      throw tooManyRaces()
    },
    reencryptAll: async () => {
      let changed = 0
      const damaged: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await store.list({ after, limit: ACCOUNTS_AT_ONCE })
        for (const { id, secondFactor } of page)
          try {
            if (secondFactor !== undefined && (await replace(id, (factor) => reencrypt(factor, id))))
              changed += 1
          } catch (error) {
            if (!(error instanceof StoreError && error.code === 'ERR_STORE_DAMAGED')) throw error
            damaged.push(id)
          }
        after = page.at(-1)?.id
        if (page.length < ACCOUNTS_AT_ONCE) break
      }
      if (damaged.length > 0) throw damagedFactors(damaged)
      return changed
    },
  }

  function reencrypt(factor: StoredFactor | undefined, accountId: string) {
    const decrypted = factor && decryptSecret(factor.secret, accountId, cookieKeys())
    if (factor === undefined || decrypted?.isOutdated !== true) return { kept: false }
    const secret = encryptSecret(decrypted.secret, accountId, cookieKeys())
    return { next: { ...factor, secret }, result: true }
  }
}

function tooManyRaces(): StoreError {
  return new StoreError('ERR_STORE_UNAVAILABLE', 'A second factor changes too often.')
}

function damagedFactors(accountIds: readonly string[]): StoreError {
  const named = accountIds.slice(0, 10).join(', ')
  return new StoreError(
    'ERR_STORE_DAMAGED',
    `${accountIds.length} second factors are damaged. Remove them with scopegate account reset-second-factor. Accounts: ${named}${accountIds.length > 10 ? ', …' : ''}`,
  )
}

/** @throws {StoreError} ERR_STORE_DAMAGED, because a damaged second factor must not count as no second factor. */
function parseFactor(stored: string | undefined): StoredFactor | undefined {
  if (stored === undefined) return undefined
  try {
    const factor: unknown = JSON.parse(stored)
    if (isRecord(factor) && isFactor(factor)) return factor
  } catch (cause) {
    throw new StoreError('ERR_STORE_DAMAGED', 'A stored second factor is not valid JSON.', { cause })
  }
  throw new StoreError('ERR_STORE_DAMAGED', 'A stored second factor has no secret.')
}

function isFactor(factor: object): factor is StoredFactor {
  const { id, secret, lastStep, recovery, setAtSeconds } = factor as Partial<StoredFactor>
  return (
    typeof id === 'string' &&
    typeof secret === 'string' &&
    typeof lastStep === 'number' &&
    typeof setAtSeconds === 'number' &&
    Array.isArray(recovery)
  )
}

/** Returns ten codes in groups of four characters, for example `GEZD-GNBV-GY3T-QOJQ`. */
function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    groupsOfFour(encodeTotpSecret(randomBytes(RECOVERY_CODE_BYTES)), '-'),
  )
}

/** People can type groups of four characters more easily. */
export function groupsOfFour(text: string, separator: string): string {
  return (text.match(/.{1,4}/g) ?? []).join(separator)
}

function hashRecoveryCode(accountId: string, typed: string): string {
  const code = typed.toUpperCase().replace(/[\s-]/g, '')
  return hash('sha256', `${accountId}\n${code}`, 'base64url')
}

function proofContext(place: string): string {
  return `password proof\n${place}`
}

/** Returns a value that changes with the password. */
function passwordTag({ passwordHash = '' }: StoredAccount): string {
  return hash('sha256', passwordHash, 'base64url')
}
