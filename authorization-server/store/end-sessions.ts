import { randomBytes } from 'node:crypto'
import type { ListedArtifact, Store } from './store.ts'

type Artifacts = Pick<Store, 'artifacts'>

/** Name of the model of the end marks. The ID is the ID of the account. */
const MARK_MODEL = 'SessionsEnd'
const MARK_BYTES = 16
/** Lifetime of an end mark: longer than each sign-in that began before the end. */
const MARK_SECONDS = 86_400

/**
 * Reads the end mark of an account. {@link endSessions} changes the mark before it ends the sessions.
 * Read the mark before the check of the credentials. After the session is stored, compare the mark again: a changed mark
 * means that the sign-in has ended.
 */
export async function readEndMark(store: Artifacts, accountId: string): Promise<string> {
  const stored = await store.artifacts(MARK_MODEL).find(accountId)
  return String(stored?.['mark'] ?? '')
}

/**
 * Ends the sessions of an account, and the sign-ins that have no session yet. Grants and tokens stay valid.
 * @param kept `uid` of the session to keep.
 * @returns the hashes of the ended sessions.
 */
export async function endSessions(
  store: Artifacts,
  accountId: string,
  kept?: string,
): Promise<readonly string[]> {
  const mark = randomBytes(MARK_BYTES).toString('base64url')
  await store.artifacts(MARK_MODEL).upsert(accountId, { mark }, MARK_SECONDS)
  const interactions = store.artifacts('Interaction')
  for (const { idHash } of await interactions.listByAccount(accountId))
    await interactions.destroyByHash(idHash)
  return removeSessions(store, accountId, ({ payload }) => kept === undefined || payload['uid'] !== kept)
}

/**
 * Ends one session, also if a concurrent request changes its ID.
 * @returns the hashes of the ended sessions.
 */
export function endSession(
  store: Artifacts,
  { accountId, uid }: { readonly accountId: string; readonly uid: string },
): Promise<readonly string[]> {
  return removeSessions(store, accountId, ({ payload }) => payload['uid'] === uid)
}

/**
 * Removes the selected sessions in passes. A pass can miss a session whose ID changes at the same time: the request
 * removes the earlier ID, so this pass does not find it. The next pass finds the new ID.
 */
async function removeSessions(
  store: Artifacts,
  accountId: string,
  isSelected: (session: ListedArtifact) => boolean,
): Promise<readonly string[]> {
  const sessions = store.artifacts('Session')
  const ended: string[] = []
  for (let missed = true; missed; ) {
    missed = false
    for (const session of await sessions.listByAccount(accountId)) {
      if (!isSelected(session)) continue
      if (await sessions.destroyByHash(session.idHash)) ended.push(session.idHash)
      else missed = true
    }
  }
  return ended
}
