import t from 'tap'
import { createSharedUsedProofs } from '../../gateway/identity/dpop/shared-used-proofs.ts'
import type { SharedRedis } from '../../gateway/redis/shared-redis.ts'

t.test(
  'a proof stays used for gateways whose clocks are behind by as much as clocks may differ',
  async (t) => {
    const kept: number[] = []
    const redis = {
      set: async (_key: string, _value: string, _unit: 'PX', ttlMs: number) => {
        kept.push(ttlMs)
        return 'OK'
      },
    }
    const shared = { redis, unusable: () => undefined, succeeded: () => undefined } as unknown as SharedRedis
    const used = createSharedUsedProofs({ shared, onAlone: () => t.fail('Redis is there') })
    t.equal(await used.use('a', 1_060, 1_000), true)
    t.equal(await used.use('b', 1_060, 1_060), true, 'in the last second')
    t.same(
      kept.map((ttlMs) => ttlMs >= 60_000),
      [true, true],
    )
    t.ok((kept[0] ?? 0) >= 120_000)
  },
)
