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

t.test('ipPrefix() expands zeros, and compares in lower case', async (t) => {
  for (const [address, prefix64, prefix48] of [
    ['2001:DB8::', '2001:db8:0:0', '2001:db8:0'],
    ['::', '0:0:0:0', '0:0:0'],
    ['FE80::A:B', 'fe80:0:0:0', 'fe80:0:0'],
    ['1:2:3:4:5:6:7::', '1:2:3:4', '1:2:3'],
    ['::2:3:4:5:6:7:8', '0:2:3:4', '0:2:3'],
    ['1:2::4:5:6:7:8', '1:2:0:4', '1:2:0'],
    ['::FFFF:192.0.2.1', '::FFFF:192.0.2.1', '::FFFF:192.0.2.1'],
    ['unknown', 'unknown', 'unknown'],
  ] as const) {
    t.equal(ipPrefix(address), prefix64, address)
    t.equal(ipPrefix(address, 48), prefix48, address)
  }
})
