import t from 'tap'
import { createRevokedTokens } from '../../../../gateway/tokens/revocation/revoked-tokens.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'
import { aRevocation } from '../../../fixtures/a-revocation.ts'

const ISSUER = 'https://api.test'

t.test('has() finds grants only with their issuer', async (t) => {
  const revoked = createRevokedTokens({ onEvicted: () => t.fail('nothing was evicted') })
  t.equal(revoked.has(aCaller()), false)
  revoked.add(aRevocation({ grant: 'grant-1' }), 'https://another.test', 100)
  revoked.add(aRevocation({ grant: 'grant-1', issuer: 'https://third.test' }), ISSUER, 100)
  t.equal(revoked.has(aCaller()), false)
  revoked.add(aRevocation({ grant: 'grant-1' }), ISSUER, 100)
  t.equal(revoked.has(aCaller()), true)
  t.equal(revoked.has(aCaller({ grant: 'grant-2' })), false)
  for (const other of ['https://another.test', 'https://third.test'])
    revoked.add(aRevocation({ grant: 'grant-1' }), other, 200)
  t.equal(revoked.has(aCaller()), true, 'revocations of other issuers do not remove it')
  t.equal(revoked.has(aCaller({ issuer: 'https://another.test' })), true)
  t.equal(revoked.has(aCaller({ issuer: 'https://fourth.test' })), false)
  t.equal(revoked.has(aCaller({ grant: undefined })), false)
})

t.test('add() does not store a revocation if all its tokens have expired', async (t) => {
  const revoked = createRevokedTokens({ onEvicted: () => t.fail('nothing was evicted') })
  revoked.add(aRevocation({ grant: 'grant-1', expiresAtSeconds: 100 }), ISSUER, 221)
  t.equal(revoked.size, 0)
  revoked.add(aRevocation({ grant: 'grant-1', expiresAtSeconds: 100 }), ISSUER, 219)
  t.equal(revoked.size, 1)
})

t.test(
  'add() bounds the number of revocations, and reports the eviction of entries that still apply',
  async (t) => {
    let evicted = 0
    const revoked = createRevokedTokens({ onEvicted: () => (evicted += 1), maxEntries: 10 })
    for (let i = 0; i < 10; i++)
      revoked.add(aRevocation({ grant: `old-${i}`, expiresAtSeconds: 100 }), ISSUER, 99)
    for (let i = 0; i < 10; i++) revoked.add(aRevocation({ grant: `g-${i}` }), ISSUER, 300)
    t.equal(evicted, 0, 'the old entries are no longer needed')
    revoked.add(aRevocation({ grant: 'one-more' }), ISSUER, 301)
    t.equal(evicted, 1)
    t.equal(revoked.size, 10)
    t.equal(revoked.has(aCaller({ grant: 'one-more' })), true)
  },
)
