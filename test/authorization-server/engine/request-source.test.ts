import t from 'tap'
import { requestSource } from '../../../authorization-server/engine/request-source.ts'

t.test('requestSource() returns the address or the integration of a request', async (t) => {
  t.strictSame(requestSource({ clientAddress: '192.0.2.7' }), {
    address: '192.0.2.7',
    network: '192.0.2.7',
  })
  t.strictSame(requestSource({ clientAddress: '2001:db8:1:2:3:4:5:6' }), {
    address: '2001:db8:1:2',
    network: '2001:db8:1',
  })
  const client = 'client K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols'
  t.strictSame(requestSource({ clientAddress: '192.0.2.7', integrationId: 'secret' }), {
    address: client,
    network: client,
  })
})
