import type { AccountStore } from '../store/store.ts'
import { type Account, insertAccount } from './accounts.ts'

/** The development accounts. Their passwords are published, so the accounts work in development mode only. */
export const DEVELOPMENT_ACCOUNTS = [
  { username: 'alice', password: 'alice', name: 'Alice Example', email: 'alice@example.com' },
  { username: 'bob', password: 'bob', name: 'Bob Example', email: 'bob@example.com' },
] as const

/**
 * Adds or removes the development accounts. Call this function once at the start of the server. In development mode,
 * adds the accounts that are missing. Outside development mode, removes the accounts with their sessions, grants and
 * tokens. A data folder from development is then safe to use.
 * @returns the accounts that were added or removed.
 */
export async function syncDevelopmentAccounts(options: {
  readonly store: AccountStore
  readonly development: boolean
  readonly nowSeconds: number
}): Promise<{ readonly added: readonly Changed[]; readonly removed: readonly Changed[] }> {
  const { store, development, nowSeconds } = options
  return development
    ? { added: await addMissing(store, nowSeconds), removed: [] }
    : { added: [], removed: await removeAll(store) }
}

type Changed = Pick<Account, 'id' | 'username'>

async function addMissing(store: AccountStore, nowSeconds: number): Promise<readonly Changed[]> {
  const added: Changed[] = []
  for (const account of DEVELOPMENT_ACCOUNTS) {
    if ((await store.findByUsername(account.username)) !== undefined) continue
    const inserted = await insertAccount(store, { ...account, origin: 'development', nowSeconds })
    if (inserted !== undefined) added.push(inserted)
  }
  return added
}

async function removeAll(store: AccountStore): Promise<readonly Changed[]> {
  const removed: Changed[] = []
  for (const account of await store.listByOrigin('development')) {
    await store.remove(account.id)
    removed.push(account)
  }
  return removed
}
