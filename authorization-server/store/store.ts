import type { Revocation } from '../../oauth/revocation.ts'

/**
 * The payload of a stored artifact. `jti` is present if the caller has the id, and `consumed` (Unix time) after the
 * consumption.
 */
export type StoredArtifact = Record<string, unknown>

/** An artifact in a list. The store has only the hash of the id, so the payload has no `jti`. */
export type ListedArtifact = {
  /** Hash of the id. See `hashId()`. */
  readonly idHash: string
  readonly payload: StoredArtifact
  /** Unix time. Undefined: the artifact never expires. */
  readonly expiresAtSeconds: number | undefined
}

/** `next` is undefined on the last page. A page can be empty. */
export type ListedPage = { readonly listed: readonly ListedArtifact[]; readonly next?: string }

/** Maximum number of stored artifacts of one model, for each address and in total. */
export type ArtifactBound = { readonly perAddress: number; readonly total: number }

/**
 * Origin of an artifact: an address, and the network that contains this address. The store keeps only hashes of the
 * address and the network.
 */
export type ArtifactSource = { readonly address: string; readonly network: string }

/**
 * Artifacts of one model (AccessToken, Grant, Session, Client, …).
 * The payload is opaque JSON. Ids are stored as SHA-256 only, so a copy of the store gives no access.
 */
export type ArtifactStore = {
  /**
   * Adds or replaces an artifact. A consumed artifact stays consumed. Without `expiresInSeconds`, the artifact never
   * expires.
   */
  upsert(id: string, payload: object, expiresInSeconds: number | undefined): Promise<void>
  /**
   * Adds or replaces an artifact, then evicts artifacts until their number is within the bound. First evicts the oldest
   * artifacts of the address, until the address has at most `perAddress`. Then evicts over all networks, until the
   * model has at most `total`:
   * - The store selects the network with the most artifacts, and in this network the address with the most artifacts.
   *   The store evicts the oldest artifact of this address.
   * - If each address of the network has one artifact, the store evicts the oldest artifact of the network.
   * - If each network has one artifact, the store evicts the artifact that expires first.
   *
   * A replaced artifact keeps its source and its age.
   */
  upsertBounded(
    id: string,
    payload: object,
    expiresInSeconds: number,
    options: { readonly source: ArtifactSource; readonly bound: ArtifactBound },
  ): Promise<void>
  /**
   * Finds an artifact that has not expired.
   * With `expired`, finds every artifact that the store still has. The clock of this process may be ahead, so an
   * artifact that seems expired may be valid.
   */
  find(id: string, options?: { readonly expired: boolean }): Promise<StoredArtifact | undefined>
  /** Finds an artifact that has not expired by the hash of its id. The result has no `jti`. */
  findByHash(idHash: string): Promise<StoredArtifact | undefined>
  /** Finds an artifact by the `uid` of its payload. The store does not have the raw id, so the result has no `jti`. */
  findByUid(uid: string): Promise<StoredArtifact | undefined>
  /** Finds an artifact by the `userCode` of its payload. The result has no `jti`. */
  findByUserCode(userCode: string): Promise<StoredArtifact | undefined>
  /** Consumes an artifact (compare-and-set). Returns true exactly once per artifact, over all processes. */
  consume(id: string): Promise<boolean>
  /** Claims an id for a time. Returns true exactly once within that time, over all processes. Stores no payload. */
  claim(id: string, expiresInSeconds: number): Promise<boolean>
  /**
   * Replaces an artifact that exists and has not expired, in one step. A consumed artifact stays consumed.
   * @returns false, without a write, when the artifact does not exist any more.
   */
  replace(id: string, payload: object, expiresInSeconds: number): Promise<boolean>
  /** @returns whether this call removed an artifact. */
  destroy(id: string): Promise<boolean>
  /** @returns whether this call removed an artifact. */
  destroyByHash(idHash: string): Promise<boolean>
  /**
   * Returns one page of the artifacts that have not expired, in any order. An artifact can be in two pages.
   * - The Redis store omits artifacts of the models `Grant`, `Session` and `Consent` without an existing account.
   * - For other models, the Redis store can omit artifacts while a Redis Cluster moves slots or fails over.
   * @param cursor `next` of the previous page. Undefined: the first page.
   */
  list(cursor?: string): Promise<ListedPage>
  /** Returns all artifacts of an account that have not expired, in any order. */
  listByAccount(accountId: string): Promise<readonly ListedArtifact[]>
  /**
   * Removes the grant and all its artifacts of every model, and logs the revocation, in one step. In a Redis Cluster,
   * artifacts of unfinished authorization requests need a separate step.
   * If the grant has no artifacts, the log stays unchanged.
   */
  revokeByGrantId(grantId: string): Promise<void>
  /**
   * Revokes a grant by the hash of its id. See `revokeByGrantId()`.
   * @returns whether the grant had artifacts.
   */
  revokeByGrantHash(grantHash: string): Promise<boolean>
}

export type ArtifactWrite = {
  readonly model: string
  readonly id: string
  readonly payload: object
  readonly expiresInSeconds: number | undefined
}

export type StoredAccount = {
  readonly id: string
  /** Normalized username. The caller normalizes the username, because the store compares bytes. */
  readonly username: string
  readonly name: string
  readonly email: string | undefined
  /** The OpenID provider of the account verified the e-mail address. */
  readonly emailVerified?: true
  /** PHC string: algorithm, parameters, salt and hash. Undefined: the account has no password. */
  readonly passwordHash?: string | undefined
  /**
   * `development`: the password is public, so the server ignores the account outside development mode. `provider`: the
   * first sign-in through an OpenID provider created the account.
   */
  readonly origin: 'operator' | 'development' | 'provider'
  readonly createdAtSeconds: number
  /** Account at an OpenID provider. `issuer` and `subject` together identify one account of the store. */
  readonly identity?: AccountIdentity
  readonly groups?: readonly string[]
  readonly roles?: readonly string[]
  /** Unix time from which the account cannot be used. Undefined: the account is enabled. */
  readonly disabledAtSeconds?: number
  /**
   * JSON of accounts/second-factors.ts. The store does not read this JSON. Undefined if the account has no second
   * factor.
   */
  readonly secondFactor?: string
}

export type AccountIdentity = {
  readonly issuer: string
  readonly subject: string
  /** Name of the provider in the configuration. */
  readonly provider: string
}

export type AccountStore = {
  findById(id: string): Promise<StoredAccount | undefined>
  findByUsername(username: string): Promise<StoredAccount | undefined>
  findByIdentity(issuer: string, subject: string): Promise<StoredAccount | undefined>
  /** @returns false, without a change, when the id, the username or the identity exists. */
  insert(account: StoredAccount): Promise<boolean>
  /** @param replaced changes the password only if the account still has this hash. Undefined: always. */
  setPasswordHash(id: string, passwordHash: string, replaced?: string): Promise<void>
  /**
   * Replaces the name, the e-mail address and its verification, the groups, the roles and the name of the provider. Does
   * nothing if the account does not exist.
   */
  update(
    account: Pick<StoredAccount, 'id' | 'name' | 'email' | 'emailVerified' | 'groups' | 'roles' | 'identity'>,
  ): Promise<void>
  /**
   * Returns accounts with ids after `after`, in the order of their ids.
   * @returns `limit` accounts, or fewer at the end.
   */
  list(options: {
    readonly after: string | undefined
    readonly limit: number
  }): Promise<readonly StoredAccount[]>
  /**
   * Disables an account: removes its sessions, grants and tokens, and logs the revocation, in one step. A Redis Cluster
   * needs several steps.
   * If `atSeconds` is undefined, enables the account. Does nothing if the account does not exist.
   */
  setDisabled(id: string, atSeconds: number | undefined): Promise<void>
  /**
   * Replaces the second factor of an account (compare-and-set). Undefined means no second factor.
   * @returns false, without a change, if the account does not exist or its second factor is not `expected`.
   */
  setSecondFactor(id: string, expected: string | undefined, next: string | undefined): Promise<boolean>
  listByOrigin(origin: StoredAccount['origin']): Promise<readonly StoredAccount[]>
  /**
   * Removes the account with its sessions, grants and tokens, and logs the revocation, in one step. A Redis Cluster
   * needs several steps.
   */
  remove(id: string): Promise<void>
}

/** An entry of the revocation log. Ids increase. Outside the store, an id is opaque. */
export type LoggedRevocation = { readonly id: string; readonly revocation: Revocation }

export type RevocationListener = {
  /** Receives revocations, oldest first. A revocation may arrive again. */
  revoked(logged: readonly LoggedRevocation[]): void
  /** Called when some revocations may be missing. */
  gap(): void
  /** Called when revocations of other processes are delayed. The listener receives these revocations later. */
  lost(): void
  /** Called when revocations of other processes arrive, also without an earlier `lost()`. */
  restored?(): void
}

/**
 * Recent revocations of all processes on the store. The store keeps entries for the lifetime of tokens, up to a maximum
 * number.
 */
export type RevocationLog = {
  /** Returns the position after the newest entry, for a new reader. */
  lastId(): Promise<string>
  /**
   * @param id position of the reader. Undefined: the start of the log.
   * @returns the entries after `id`, oldest first. Undefined: `id` is unknown, an entry is missing or cannot be parsed,
   * or there are more than `limit` entries.
   */
  readAfter(id: string | undefined, limit: number): Promise<readonly LoggedRevocation[] | undefined>
  /**
   * Calls the listener for every later revocation.
   * @returns a function that stops the calls.
   */
  follow(listener: RevocationListener): Promise<() => void>
}

/** A counter of attempts. `limit`: maximum number of attempts in the window. */
export type AttemptCounter = { readonly id: string; readonly limit: number }

export type FullCounter = {
  readonly id: string
  readonly endsInSeconds: number
  /** True for the first caller in the window that finds the counter at its limit, over all processes. */
  readonly isFirst: boolean
}

/**
 * Counters of attempts, which all processes share. The window of a counter begins with its first attempt. The store has
 * only the hash of an id. The store has at most {@link MAX_ATTEMPT_COUNTERS} counters, and removes the oldest counters.
 */
export type AttemptCounters = {
  /** Finds the first counter at its limit. Counts nothing. */
  check(counters: readonly AttemptCounter[]): Promise<FullCounter | undefined>
  /**
   * If no counter is at its limit, adds 1 to all counters. This is one step over all processes. Calls that share a
   * counter must have the same last counter, because the PostgreSQL store locks the last counter.
   * @returns the first counter at its limit. Undefined: the attempt is counted.
   */
  add(counters: readonly AttemptCounter[], windowSeconds: number): Promise<FullCounter | undefined>
  /** Removes a counter, and subtracts 1 from another counter. A counter does not fall below 0. */
  release(ids: { readonly removed: string; readonly reduced: string }): Promise<void>
}

/** Uses about 15 MB in the store. */
export const MAX_ATTEMPT_COUNTERS = 100_000

/** The state of the authorization server, which SQLite, Redis or PostgreSQL stores. */
export type Store = {
  artifacts(model: string): ArtifactStore
  /**
   * Consumes an artifact and writes other artifacts in one step. Returns true exactly once per artifact, over all
   * processes.
   * @returns false, without a write, when the artifact was consumed, has expired or does not exist.
   */
  exchange(
    used: { readonly model: string; readonly id: string },
    writes: readonly ArtifactWrite[],
  ): Promise<boolean>
  readonly accounts: AccountStore
  readonly attempts: AttemptCounters
  readonly revocations: RevocationLog
  /**
   * Writes to the store as a request does, and compares the clocks of this process and the store.
   * @returns the seconds by which the clock of this process is ahead. Undefined: the store has no clock.
   * @throws {StoreError} ERR_STORE_UNAVAILABLE when the store rejects writes.
   */
  probe(): Promise<number | undefined>
  /**
   * Deletes expired artifacts and attempt counters, and revocations that apply to no valid token. Completes removals of
   * accounts. Redis deletes expired data itself.
   * @returns the number of artifacts that this call deleted.
   */
  sweep(nowSeconds: number): Promise<number>
  close(): Promise<void>
}

/** Kind of failure: the store cannot be reached or written, or its content cannot be read. */
type StoreErrorCode = 'ERR_STORE_UNAVAILABLE' | 'ERR_STORE_DAMAGED'

/** The reasons in metrics and readiness checks. The list is closed, because the reason is a metric label. */
export const STORE_ERROR_REASONS = ['away', 'read_only', 'full', 'locked', 'damaged', 'failed'] as const
export type StoreErrorReason = (typeof STORE_ERROR_REASONS)[number]

/** A failure of the store at run time. Either the operation changed nothing, or its outcome is unknown. */
export class StoreError extends Error {
  readonly code: StoreErrorCode
  readonly reason: StoreErrorReason

  constructor(
    code: StoreErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly reason?: StoreErrorReason } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StoreError'
    this.code = code
    this.reason = options.reason ?? (code === 'ERR_STORE_DAMAGED' ? 'damaged' : 'failed')
  }
}
