import t from 'tap'
import { hashGrantId } from '../../../authorization-server/engine/provider-events.ts'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'

t.test('the grant ID for gateways and the ID in the store are the base64url SHA-256 of the ID', async (t) => {
  for (const hash of [hashGrantId, hashId])
    t.equal(hash('secret'), 'K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols')
})
