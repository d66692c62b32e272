import t from 'tap'
import { normalizeIp } from '../../../platform/net/normalize-ip.ts'

t.test('normalizeIp() returns the same spelling for all spellings of an address', async (t) => {
  t.equal(normalizeIp('::ffff:127.0.0.1'), '127.0.0.1')
  t.equal(normalizeIp('::FFFF:127.0.0.1'), '127.0.0.1')
  t.equal(normalizeIp('::1'), '::1')
  t.equal(normalizeIp('fe80::1%2'), 'fe80::1')
  t.equal(normalizeIp('127.0.0.1'), '127.0.0.1')
  t.equal(normalizeIp(undefined), '')
})
