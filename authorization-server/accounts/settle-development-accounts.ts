import type { AccountStore } from '../store/store.ts'
import { insertAccount } from './accounts.ts'

/** Published with the product, so they open a server in development mode and no other. */
export const DEVELOPMENT_ACCOUNTS = [
  { username: 'alice', password: 'alice', name: 'Alice Example', email: 'alice@example.com' },
  { username: 'bob', password: 'bob', name: 'Bob Example', email: 'bob@example.com' },
] as const

/**
 * Run once at start. In development mode alice and bob are made unless they are there. In any other mode every
 * development account goes, with its sessions, grants and tokens: a data folder that was used for development does
 * not bring its open doors along.
 * @returns the usernames that were added or removed.
 */
export async function settleDevelopmentAccounts(options: {
  readonly store: AccountStore
  readonly development: boolean
  readonly nowSeconds: number
}): Promise<{ readonly added: readonly string[]; readonly removed: readonly string[] }> {
  const { store, development, nowSeconds } = options
  return development
    ? { added: await addMissing(store, nowSeconds), removed: [] }
    : { added: [], removed: await removeAll(store) }
}

async function addMissing(store: AccountStore, nowSeconds: number): Promise<readonly string[]> {
  const added: string[] = []
  for (const account of DEVELOPMENT_ACCOUNTS) {
    if ((await store.findByUsername(account.username)) !== undefined) continue
    const inserted = await insertAccount(store, { ...account, origin: 'development', nowSeconds })
    if (inserted !== undefined) added.push(inserted.username)
  }
  return added
}

async function removeAll(store: AccountStore): Promise<readonly string[]> {
  const removed: string[] = []
  for (const account of await store.listByOrigin('development')) {
    await store.remove(account.id)
    removed.push(account.username)
  }
  return removed
}
