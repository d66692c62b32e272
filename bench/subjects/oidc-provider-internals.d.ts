/** Modules of oidc-provider without types. `bare-provider.ts` uses them. */

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  import type { Adapter, AdapterPayload } from 'oidc-provider'

  /** The in-memory adapter, which oidc-provider uses by default. */
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
  /** The storage of the in-memory adapter. */
  export default class LRU {
    constructor(options: { readonly maxSize: number })
  }
}
