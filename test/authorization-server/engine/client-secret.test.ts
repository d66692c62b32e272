import t from 'tap'
import { hashClientSecret, matchesClientSecret } from '../../../authorization-server/engine/client-secret.ts'

const STORED = 'sha256.K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols'

t.test('hashClientSecret() hashes a secret once', async (t) => {
  t.equal(hashClientSecret('secret'), STORED)
  t.equal(hashClientSecret(STORED), STORED)
})

t.test('matchesClientSecret() accepts only the secret of the hash', async (t) => {
  t.equal(matchesClientSecret('secret', STORED), true)
  t.equal(matchesClientSecret('Secret', STORED), false)
  t.equal(matchesClientSecret(STORED, STORED), false)
  t.equal(matchesClientSecret('secret', undefined), false)
  t.equal(matchesClientSecret('secret', 'secret'), false, 'a value of another length')
})
