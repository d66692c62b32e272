import type { RevocationContext } from './revocation-records.ts'
import type { Store } from './store.ts'

/** Model and id of the record of the longest lifetime. All servers on the store share the record. */
const MODEL = 'AccessTokenLifetime'
const ID = 'longest'
/** Additional lifetime of the record, because a sweep that renews the record can fail. Seconds. */
const MARGIN_SECONDS = 600

/**
 * Records the longest lifetime of access tokens that a server on the store issues, and sets this lifetime in `context`.
 * After a change of the configuration, earlier tokens can have a longer lifetime than the tokens of this server. The
 * revocation of a grant must apply to these tokens too.
 * @param context `accessTokenSeconds` is the lifetime of the tokens of this server.
 * @returns the store. Each sweep reads the record, and renews it unless another server recorded a longer lifetime.
 */
export async function followLongestLifetime(
  store: Store,
  context: { -readonly [Key in keyof RevocationContext]: RevocationContext[Key] },
): Promise<Store> {
  const ownSeconds = context.accessTokenSeconds
  const lifetimes = store.artifacts(MODEL)

  async function renew(): Promise<void> {
    const { seconds } = (await lifetimes.find(ID)) ?? {}
    context.accessTokenSeconds = Math.max(ownSeconds, Number(seconds ?? 0))
    if (context.accessTokenSeconds === ownSeconds)
      await lifetimes.upsert(ID, { seconds: ownSeconds }, ownSeconds + MARGIN_SECONDS)
  }

  // One shard of a Redis Cluster can be unavailable. The next sweep then reads the record.
  await renew().catch(() => undefined)
  return {
    ...store,
    sweep: async (nowSeconds) => {
      const removed = await store.sweep(nowSeconds)
      await renew()
      return removed
    },
  }
}
