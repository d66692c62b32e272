/** `bare-provider.ts` uses these modules of oidc-provider, which have no types. */

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  import type { Adapter, AdapterPayload } from 'oidc-provider'

  /** By default, oidc-provider uses this in-memory adapter. */
  export default class MemoryAdapter implements Adapter {
    constructor(model: string, store: object)
    upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void>
    find(id: string): Promise<AdapterPayload | undefined>
    findByUserCode(userCode: string): Promise<AdapterPayload | undefined>
    findByUid(uid: string): Promise<AdapterPayload | undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }
}

declare module 'oidc-provider/lib/helpers/lru.js' {
  /** The in-memory adapter stores its data in this class. */
  export default class LRU {
    constructor(options: { readonly maxSize: number })
  }
}
