import t from 'tap'
import { ipPrefix } from '../../../platform/net/ip-prefix.ts'

t.test('ipPrefix() returns an IPv4 address unchanged, with any prefix', async (t) => {
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1'])
    for (const prefix of [48, 64] as const) t.equal(ipPrefix(address, prefix), address)
})

t.test('ipPrefix() returns the /64 or the /48 of an IPv6 address', async (t) => {
  t.equal(ipPrefix('2001:DB8:1:2::9'), '2001:db8:1:2')
  t.equal(ipPrefix('2001:db8:1:2:3:4:5:6', 48), '2001:db8:1')
  t.equal(ipPrefix('2001:db8::9', 48), '2001:db8:0')
  t.equal(ipPrefix('::1', 48), '0:0:0')
})
