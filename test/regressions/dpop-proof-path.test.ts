import t from 'tap'
import { isRequestAddress } from '../../gateway/pipeline/is-request-address.ts'

const RULES = { method: 'GET', origin: 'https://api.test', limitBytes: 8_192 }

t.test('text after // in a query is not part of the path in the htu of a proof', async (t) => {
  t.equal(isRequestAddress('https://api.test/a?x=//elsewhere/b', '/a', RULES), true)
  for (const address of [
    'https:/api.test/b?x=//elsewhere/a',
    'https:api.test/b?x=//elsewhere/a',
    'https:api.test/b#//elsewhere/a',
    'https:\\\\api.test/b?x=//elsewhere/a',
    '\thttps://api.test/a',
  ])
    t.equal(isRequestAddress(address, '/a', RULES), false, address)
})
