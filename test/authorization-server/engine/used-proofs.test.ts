import t from 'tap'
import { usedProofs } from '../../../authorization-server/engine/verify-proof.ts'

t.test(
  '§11.1 of RFC 9449: usedProofs() stores an ID until a minute after any replica accepts it',
  async (t) => {
    const claims: unknown[] = []
    const use = usedProofs({
      artifacts: { claim: async (...claim) => claims.push(claim) === 1 },
      nowSeconds: () => 1_000,
    })
    t.equal(await use('maker', 'id', 1_300), true)
    t.equal(await use('maker', 'id', 1_300), false)
    await use('maker', 'id2', 1_000)
    await use('maker2', 'id', 500)
    t.strictSame(claims, [
      ['eVbl08xMYmMJ1f4GanpDAMrYiCCTcvoZ7VNTyFGEF7I', 360],
      ['eVbl08xMYmMJ1f4GanpDAMrYiCCTcvoZ7VNTyFGEF7I', 360],
      ['9WkFAXujmLQzMIijMsb8qT_54zAyOgbrpF2FIXElyc0', 60],
      ['sY6ncPJwHBHVErr4TrXxYrGAc8AcOEl6u93mhBxKioA', 60],
    ])
  },
)
