import type { AccountStore } from '../accounts/account-store.ts'

/** What a model of the engine (a token, a code, a session, a client, …) looks like in the store: opaque JSON. */
export type StoredArtifact = Readonly<Record<string, unknown>>

/** The artifacts of one model. Ids are stored as hashes; the plain id is put back on the way out. */
export type ArtifactStore = {
  /** Writes the artifact; without `expiresInSeconds` it does not expire. */
  upsert(id: string, payload: object, expiresInSeconds: number | undefined): Promise<void>
  find(id: string): Promise<StoredArtifact | undefined>
  findByUid(uid: string): Promise<StoredArtifact | undefined>
  findByUserCode(userCode: string): Promise<StoredArtifact | undefined>
  /** Compare-and-set: true exactly once for an artifact, however many ask at the same time. */
  consume(id: string): Promise<boolean>
  destroy(id: string): Promise<void>
  /** Destroys every artifact of this model that belongs to the grant. */
  revokeByGrantId(grantId: string): Promise<void>
}

/** Everything the authorization server remembers. */
export type Store = {
  /** @param model the engine's name of the model, e.g. `RefreshToken`. */
  artifacts(model: string): ArtifactStore
  readonly accounts: AccountStore
  /** @throws when the store cannot be reached. */
  check(): Promise<void>
  /** Removes what expired before `nowSeconds`. @returns how many artifacts went. */
  sweep(nowSeconds: number): Promise<number>
  close(): Promise<void>
}
