import { openStore, type StoreConfig } from '../store/open-store.ts'
import { type Account, type AddAccountRejection, createAccounts, type NewAccount } from './accounts.ts'

/**
 * Adds one account to the configured store, then closes the store. Servers can use the store at the same time.
 * @returns the account, or a rejection that says what to do.
 * @throws {BootError} when the store cannot be opened.
 * @throws {StoreError} when an operation on the open store fails.
 */
export async function addAccount(options: {
  readonly config: StoreConfig
  readonly account: NewAccount
  readonly nowSeconds: () => number
}): Promise<{ readonly added: Account } | AddAccountRejection> {
  const store = await openStore(options.config, { nowSeconds: options.nowSeconds })
  try {
    const accounts = createAccounts({
      store: store.accounts,
      development: false,
      nowSeconds: options.nowSeconds,
    })
    return await accounts.add(options.account)
  } finally {
    await store.close()
  }
}
