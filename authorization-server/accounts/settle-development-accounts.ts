import type { AccountStore } from '../store/store.ts'
import { type Account, insertAccount } from './accounts.ts'

/** Published with the product, so they open a server in development mode and no other. */
export const DEVELOPMENT_ACCOUNTS = [
  { username: 'alice', password: 'alice', name: 'Alice Example', email: 'alice@example.com' },
  { username: 'bob', password: 'bob', name: 'Bob Example', email: 'bob@example.com' },
] as const

/**
 * Run once at start. In development mode alice and bob are made unless they are there. In any other mode every
 * development account goes, with its sessions, grants and tokens: a data folder that was used for development does
 * not bring its open doors along.
 * @returns the accounts that were added or removed.
 */
export async function settleDevelopmentAccounts(options: {
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
