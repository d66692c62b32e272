import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type AccountIdentity, type AccountStore, type StoredAccount, StoreError } from '../store/store.ts'
import { hashPassword, MINIMUM_COST, unmatchableHash, verifyPassword } from './password-hash.ts'

export type Account = {
  /** Value of `sub` in every token of the account. Random and never reused. */
  readonly id: string
  readonly username: string
  readonly name: string
  readonly email: string | undefined
  /** The OpenID provider of the account verified the e-mail address. */
  readonly emailVerified?: true
  /** Name of the OpenID provider of the account. Absent: a local account. */
  readonly provider?: string
  /** Groups and roles from the OpenID provider of the account. */
  readonly groups?: readonly string[]
  readonly roles?: readonly string[]
  /** True: the account has a second factor. */
  readonly hasSecondFactor?: boolean
}

/**
 * An account after the check of the credentials. `endMark` is from a read before the check, so a sign-in ends if the
 * sessions of the account end at the same time. See `readEndMark()`.
 */
export type VerifiedAccount = Account & { readonly endMark: string }

/** The reason why an account was not added. `message` says what to do. */
export type AddAccountRejection = {
  readonly rejected:
    | 'username_invalid'
    | 'username_taken'
    | 'text_invalid'
    | 'password_too_short'
    | 'password_too_long'
  readonly message: string
}

export type NewAccount = {
  readonly username: string
  /** Undefined: the account has no password, so the person cannot sign in. */
  readonly password?: string
  /** Name of the person on the consent page. Default: the username. */
  readonly name?: string
  readonly email?: string
}

export type Accounts = {
  /**
   * Verifies a password. The response time does not reveal whether the account exists.
   * @returns the account when the password is correct.
   */
  verify(username: string, password: string): Promise<VerifiedAccount | undefined>
  find(id: string): Promise<Account | undefined>
  /** Returns the id of the account with the typed name, for the audit log. */
  findId(username: string): Promise<string | undefined>
  /**
   * Finds the account of a person at an OpenID provider, or adds the account. Updates the data of the person.
   * `issuer` and `subject` alone identify the account: an e-mail address never selects an account.
   */
  signInFromProvider(person: ProviderPerson): Promise<ProviderSignInResult>
  add(account: NewAccount): Promise<{ readonly added: Account } | AddAccountRejection>
  setPassword(id: string, password: string): Promise<AddAccountRejection | undefined>
}

/** A person after authentication at an OpenID provider. The data are validated and have a bounded length. */
export type ProviderPerson = {
  readonly identity: AccountIdentity
  readonly name: string
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly groups: readonly string[] | undefined
  readonly roles: readonly string[] | undefined
}

export type ProviderSignInResult = { readonly account: VerifiedAccount; readonly isNew: boolean } | 'disabled'

/** The cause and the remedy when an action needs passwords, and the configuration disables them. */
export const LOCAL_SIGN_IN_OFF =
  'People cannot sign in with a password, because signIn.local is false in authorization-server.yaml. Let the person sign in through an OpenID provider, or set signIn.local to true and restart the server.'

export const PASSWORD_CHARACTERS = { min: 12, max: 256 } as const
const SALT_BYTES = 16
const ID_BYTES = 16
/** In hexadecimal, because an id that starts with a hyphen would be an option of the command line. */
const newAccountId = (): string => randomBytes(ID_BYTES).toString('hex')

/**
 * Creates the accounts over the store.
 * Outside development mode, each lookup ignores the development accounts, because their passwords are published.
 * Another process on the same store can add such accounts at any time.
 */
export function createAccounts(options: {
  readonly store: AccountStore
  readonly development: boolean
  readonly nowSeconds: () => number
  /** Reads the end mark of an account. Default: no account has a mark. */
  readonly readEndMark?: (accountId: string) => Promise<string>
}): Accounts {
  const { store, development, nowSeconds, readEndMark = async () => '' } = options
  const counts = (account: StoredAccount | undefined): account is StoredAccount =>
    account !== undefined &&
    account.disabledAtSeconds === undefined &&
    (account.origin !== 'development' || development)
  // Hash to verify for an unknown account, so that the response time does not reveal whether an account exists.
  const dummyHash = unmatchableHash()

  const findStored = async (typedName: string): Promise<StoredAccount | undefined> => {
    const username = normalizeUsername(typedName)
    const stored = username === undefined ? undefined : await store.findByUsername(username)
    return counts(stored) ? stored : undefined
  }

  return {
    verify: async (typedName, password) => {
      const account = await findStored(typedName)
      const attempt = password.length > PASSWORD_CHARACTERS.max ? '' : password
      const result = await verifyPassword(attempt, account?.passwordHash ?? dummyHash)
      if (account?.passwordHash === undefined || result === 'mismatch') return undefined
      const endMark = await readEndMark(account.id)
      // The password can change, and the account can become disabled, during the verification.
      const current = await store.findById(account.id)
      if (!counts(current) || current.passwordHash === undefined) return undefined
      const isChanged = current.passwordHash !== account.passwordHash
      if (isChanged && (await verifyPassword(attempt, current.passwordHash)) === 'mismatch') return undefined
      if (result === 'outdated' && account.origin === 'operator')
        await store.setPasswordHash(account.id, await newHash(attempt), account.passwordHash)
      return { ...toAccount(current), endMark }
    },
    find: async (id) => {
      const account = await store.findById(id)
      return counts(account) ? toAccount(account) : undefined
    },
    findId: async (typedName) => (await findStored(typedName))?.id,
    signInFromProvider: (person) =>
      signInFromProvider(person, { store, readEndMark, nowSeconds: nowSeconds() }),
    add: async (account) => {
      const rejection = validateNewAccount(account)
      if (rejection !== undefined) return rejection
      const added = await insertAccount(store, { ...account, origin: 'operator', nowSeconds: nowSeconds() })
      return added === undefined
        ? { rejected: 'username_taken', message: 'An account with this username already exists.' }
        : { added }
    },
    setPassword: async (id, password) => {
      const rejection = validatePassword(password)
      if (rejection === undefined) await store.setPasswordHash(id, await newHash(password))
      return rejection
    },
  }
}

/**
 * Hashes the password and inserts the account.
 * @returns undefined when the username is taken or not valid.
 */
export async function insertAccount(
  store: AccountStore,
  account: NewAccount & { readonly origin: StoredAccount['origin']; readonly nowSeconds: number },
): Promise<Account | undefined> {
  const username = normalizeUsername(account.username)
  if (username === undefined) return undefined
  const stored: StoredAccount = {
    id: newAccountId(),
    username,
    name: account.name ?? username,
    email: account.email,
    passwordHash:
      account.password === undefined ? undefined : await newHash(account.password, account.origin),
    origin: account.origin,
    createdAtSeconds: account.nowSeconds,
  }
  return (await store.insert(stored)) ? toAccount(stored) : undefined
}

function validateNewAccount(account: NewAccount): AddAccountRejection | undefined {
  if (normalizeUsername(account.username) === undefined)
    return {
      rejected: 'username_invalid',
      message:
        'A username must have 1 to 64 characters: letters, digits and . _ @ + -. The first character must be a letter or a digit.',
    }
  if ([account.name, account.email].some((text) => text !== undefined && CONTROL_CHARACTER.test(text)))
    return {
      rejected: 'text_invalid',
      message: 'The full name and the e-mail address must not contain control characters.',
    }
  return account.password === undefined ? undefined : validatePassword(account.password)
}

/** Also matches unpaired surrogates, which UTF-8 cannot encode. */
const CONTROL_CHARACTER = /[\p{Cc}\p{Cs}]/u

/** @returns undefined when the password satisfies the rules. */
export function validatePassword(password: string): AddAccountRejection | undefined {
  if ([...password].length < PASSWORD_CHARACTERS.min)
    return {
      rejected: 'password_too_short',
      message: `A password must have at least ${PASSWORD_CHARACTERS.min} characters.`,
    }
  if (password.length > PASSWORD_CHARACTERS.max)
    return {
      rejected: 'password_too_long',
      message: `A password must have at most ${PASSWORD_CHARACTERS.max} characters.`,
    }
  return undefined
}

function newHash(password: string, origin: StoredAccount['origin'] = 'operator'): Promise<string> {
  const cost = origin === 'development' ? MINIMUM_COST : undefined
  return hashPassword(password, randomBytes(SALT_BYTES), cost)
}

async function signInFromProvider(
  person: ProviderPerson,
  {
    store,
    readEndMark,
    nowSeconds,
  }: {
    readonly store: AccountStore
    readonly readEndMark: (accountId: string) => Promise<string>
    readonly nowSeconds: number
  },
): Promise<ProviderSignInResult> {
  const { identity, name, email, emailVerified, groups, roles } = person
  const profile = {
    name,
    email,
    identity,
    ...(emailVerified ? { emailVerified } : {}),
    ...(groups === undefined ? {} : { groups }),
    ...(roles === undefined ? {} : { roles }),
  }
  const found = await store.findByIdentity(identity.issuer, identity.subject)
  if (found === undefined) {
    const id = newAccountId()
    const added: StoredAccount = {
      id,
      // No person can type this name, because local user names cannot contain a colon.
      username: `${identity.provider}:${id}`,
      origin: 'provider',
      createdAtSeconds: nowSeconds,
      ...profile,
    }
    if (await store.insert(added)) return { account: { ...toAccount(added), endMark: '' }, isNew: true }
  }
  // A concurrent first sign-in of the person may have inserted the account.
  const known = found ?? (await store.findByIdentity(identity.issuer, identity.subject))
  const endMark = known === undefined ? '' : await readEndMark(known.id)
  const present = known && (await store.findById(known.id))
  if (present === undefined) throw new StoreError('ERR_STORE_DAMAGED', 'An identity has no account.')
  if (present.disabledAtSeconds !== undefined) return 'disabled'
  const { groups: _groups, roles: _roles, emailVerified: _verified, ...rest } = present
  const updated: StoredAccount = { ...rest, ...profile }
  if (!isDeepStrictEqual(updated, present)) await store.update(updated)
  return { account: { ...toAccount(updated), endMark }, isNew: false }
}

/**
 * Returns the claims of the scopes `profile` and `email`. OpenID Connect Core 1.0 section 5.1. The claims of an
 * account of a provider have no `preferred_username`: the person chose no username, and an app can confuse the name from
 * the provider with the username of a local account.
 */
export function standardClaims({
  username,
  name,
  email,
  emailVerified,
  provider,
}: Pick<Account, 'username' | 'name' | 'email' | 'emailVerified' | 'provider'>) {
  return {
    profile: { name, ...(provider === undefined ? { preferred_username: username } : {}) },
    email:
      email === undefined
        ? {}
        : { email, ...(emailVerified === true ? { email_verified: emailVerified } : {}) },
  }
}

function toAccount(stored: StoredAccount): Account {
  const { id, username, name, email, emailVerified, identity, groups, roles, secondFactor } = stored
  return {
    id,
    username,
    name,
    email,
    ...(emailVerified === undefined ? {} : { emailVerified }),
    ...(identity === undefined ? {} : { provider: identity.provider }),
    ...(groups === undefined ? {} : { groups }),
    ...(roles === undefined ? {} : { roles }),
    ...(secondFactor === undefined ? {} : { hasSecondFactor: true }),
  }
}

const MAX_LENGTH = 64
// Matches a normalized username: letters, digits and combining characters of any script, and the punctuation of names
// and email addresses.
const USERNAME = /^[\p{L}\p{N}\p{M}][\p{L}\p{N}\p{M}._@+-]*$/u

/**
 * Normalizes a username: NFKC, lower case, no surrounding spaces.
 * @returns undefined when the name is not valid or has more than 64 characters.
 */
export function normalizeUsername(typed: string): string | undefined {
  if (typed.length > 4 * MAX_LENGTH) return undefined
  // Lower-casing can undo the composition of characters. The second normalization restores the composition.
  const username = typed.normalize('NFKC').trim().toLowerCase().normalize('NFKC')
  return username.length <= MAX_LENGTH && USERNAME.test(username) ? username : undefined
}
