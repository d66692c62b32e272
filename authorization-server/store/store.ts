import type { Revocation } from '../../oauth/revocation.ts'

/** A stored artifact: its payload with `jti` and `consumed`. */
export type StoredArtifact = Record<string, unknown>

/** Largest number of artifacts of one model that the store keeps at once. */
export type ArtifactBound = { readonly perAddress: number; readonly total: number }

/** Origin of an artifact: an address, and the network that contains it. The store keeps hashes. */
export type ArtifactSource = { readonly address: string; readonly network: string }

/**
 * Artifacts of one model (AccessToken, Grant, Session, Client, …). The payload is opaque JSON; ids reach the
 * disk as SHA-256 only, so a copy of the store opens nothing.
 */
export type ArtifactStore = {
  /** Adds or replaces; a consumed artifact stays consumed. Without `expiresInSeconds` it never expires. */
  upsert(id: string, payload: object, expiresInSeconds: number | undefined): Promise<void>
  /**
   * Adds or replaces, and evicts the oldest artifacts of the address until it has at most `perAddress`. Then it evicts from
   * the network with the most artifacts, oldest first, until all networks together have at most `total`. An artifact that
   * exists already keeps its source and its age.
   */
  upsertBounded(
    id: string,
    payload: object,
    expiresInSeconds: number,
    options: { readonly source: ArtifactSource; readonly bound: ArtifactBound },
  ): Promise<void>
  /**
   * Finds an artifact that has not expired. With `expired`, an artifact counts as long as the store still has it: the clock of
   * this process may be ahead.
   */
  find(id: string, options?: { readonly expired: boolean }): Promise<StoredArtifact | undefined>
  /** Finds by the payload's `uid`. The id is not known to the store, so the result has no `jti`. */
  findByUid(uid: string): Promise<StoredArtifact | undefined>
  /** Finds by the payload's `userCode`. The result has no `jti`. */
  findByUserCode(userCode: string): Promise<StoredArtifact | undefined>
  /** Compare-and-set: true exactly once for an artifact, however many processes ask. */
  consume(id: string): Promise<boolean>
  /**
   * Takes an id for a while: true exactly once until that time is over, however many processes ask. Nothing else is kept
   * under it.
   */
  claim(id: string, expiresInSeconds: number): Promise<boolean>
  destroy(id: string): Promise<void>
  /**
   * Removes everything that belongs to the grant, of every model, the grant itself included, and writes down that it did,
   * in one step. Where nothing is left to remove, nothing is written.
   */
  revokeByGrantId(grantId: string): Promise<void>
}

/** An artifact to write; the fields as for {@link ArtifactStore.upsert}. */
export type ArtifactWrite = {
  readonly model: string
  readonly id: string
  readonly payload: object
  readonly expiresInSeconds: number | undefined
}

/** An account as the store keeps it. */
export type StoredAccount = {
  readonly id: string
  /** Normalised by the caller: the store compares bytes. */
  readonly username: string
  readonly name: string
  readonly email: string | undefined
  /** PHC string: algorithm, parameters, salt and hash. */
  readonly passwordHash: string
  /** `development` accounts have published passwords and never count outside development mode. */
  readonly origin: 'operator' | 'development'
  readonly createdAtSeconds: number
}

/** Where accounts live. */
export type AccountStore = {
  findById(id: string): Promise<StoredAccount | undefined>
  findByUsername(username: string): Promise<StoredAccount | undefined>
  /** @returns false, and changes nothing, when the id or the username is taken. */
  insert(account: StoredAccount): Promise<boolean>
  setPasswordHash(id: string, passwordHash: string): Promise<void>
  listByOrigin(origin: StoredAccount['origin']): Promise<readonly StoredAccount[]>
  /** Removes the account together with its sessions, grants and tokens, and writes that down, in one step. */
  remove(id: string): Promise<void>
}

/** One entry of the log of revocations. Ids grow; they are opaque outside the store. */
export type LoggedRevocation = { readonly id: string; readonly revocation: Revocation }

/** Receives revocations. */
export type RevocationListener = {
  /** Oldest first; a revocation may arrive again. */
  revoked(logged: readonly LoggedRevocation[]): void
  /** Some revocations may be missing. */
  missed(): void
  /** Revocations of other processes do not arrive for now; they arrive later. */
  lost(): void
}

/** The recent revocations of every process on the store. Entries live as long as tokens; their number is bounded. */
export type RevocationLog = {
  /** The position of a new reader. */
  lastId(): Promise<string>
  /** @returns those after `id`, oldest first; undefined when that is not known, or they are more than `limit`. */
  readAfter(id: string, limit: number): Promise<readonly LoggedRevocation[] | undefined>
  /** Tells about every revocation from now on. @returns what ends it. */
  follow(listener: RevocationListener): Promise<() => void>
}

/** The state of the authorization server. SQLite and Redis implement it. */
export type Store = {
  artifacts(model: string): ArtifactStore
  /**
   * Consumes an artifact and writes others in one step. True exactly once for an artifact, in any number of processes.
   * @returns false when the artifact was consumed, has expired or is gone; then nothing was written.
   */
  exchange(
    used: { readonly model: string; readonly id: string },
    writes: readonly ArtifactWrite[],
  ): Promise<boolean>
  readonly accounts: AccountStore
  readonly revocations: RevocationLog
  /**
   * Writes to the store as requests do, and compares clocks.
   * @returns how far the clock of this process is ahead of the store's, in seconds; undefined for a store without a clock.
   * @throws {StoreError} ERR_STORE_UNAVAILABLE when the store takes no writes now.
   */
  probe(): Promise<number | undefined>
  /** Deletes expired artifacts. @returns their number. */
  sweep(nowSeconds: number): Promise<number>
  close(): Promise<void>
}
