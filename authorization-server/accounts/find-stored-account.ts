import type { Store, StoredAccount } from '../store/store.ts'
import { normalizeUsername } from './accounts.ts'

/** Finds an account by the user name or the ID that an operator typed. */
export async function findStoredAccount(
  store: Pick<Store, 'accounts'>,
  typed: string,
): Promise<StoredAccount | undefined> {
  const username = normalizeUsername(typed)
  // The username of a provider account contains a colon, so it has no normalized form.
  return (await store.accounts.findByUsername(username ?? typed)) ?? (await store.accounts.findById(typed))
}
