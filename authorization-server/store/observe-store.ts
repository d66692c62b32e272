import type { Store } from './store.ts'
import { StoreError } from './store-error.ts'

type Operations = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

/** Wraps a store so that `onError` receives every failure of its operations, except the write probe. */
export function observeStore(store: Store, onError: (error: StoreError) => void): Store {
  const observe = <Part extends object>(part: Part): Part =>
    Object.fromEntries(
      Object.entries(part as unknown as Operations).map(([name, run]) => [
        name,
        async (...args: never[]) => {
          try {
            return await run(...args)
          } catch (error) {
            if (error instanceof StoreError) onError(error)
            throw error
          }
        },
      ]),
    ) as Part
  const { exchange, sweep, ...rest } = store
  return {
    ...rest,
    ...observe({ exchange, sweep }),
    artifacts: (model) => observe(store.artifacts(model)),
    accounts: observe(store.accounts),
    revocations: observe(store.revocations),
  }
}
