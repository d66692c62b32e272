import t from 'tap'
import { clientAddress, compileTrustedProxies } from '../../../gateway/server/client-address.ts'

const trusted = compileTrustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8'])
if (trusted === undefined) throw new Error('there are proxies')

type Case = readonly [value: string, client: string, why: string]

const X_FORWARDED_FOR: readonly Case[] = [
  ['', '10.0.0.1', 'an empty header'],
  ['203.0.113.9', '203.0.113.9', 'one hop'],
  ['6.6.6.6, 203.0.113.9', '203.0.113.9', 'entries of the client are left of the entry of the proxy'],
  ['10.9.9.9, 203.0.113.9', '203.0.113.9', 'a client cannot pose as a proxy'],
  ['203.0.113.9, 10.2.2.2, 192.0.2.7', '203.0.113.9', 'a chain of trusted proxies'],
  ['203.0.113.9,10.2.2.2', '203.0.113.9', 'without spaces'],
  ['10.3.3.3, 10.2.2.2', '10.3.3.3', 'all hops are trusted: the farthest'],
  ['203.0.113.9, unknown', '10.0.0.1', 'an invalid entry ends the chain'],
  ['203.0.113.9, unknown, 10.2.2.2', '10.2.2.2', 'an invalid entry further left ends the chain too'],
  ['203.0.113.9, ', '10.0.0.1', 'an empty entry is invalid'],
  [',', '10.0.0.1', 'only a comma'],
  [',,,,', '10.0.0.1', 'only commas'],
  ['203.0.113.9:4711', '203.0.113.9', 'with a port'],
  ['203.0.113.9:65535', '203.0.113.9', 'with a port of five digits'],
  ['2001:db8::1', '2001:db8::1', 'IPv6'],
  ['[2001:db8::1]', '2001:db8::1', 'IPv6 in brackets'],
  ['[2001:db8::1]:4711', '2001:db8::1', 'IPv6 with a port'],
  ['[2001:db8::1]:65535', '2001:db8::1', 'IPv6 with a port of five digits'],
  ['[2001:db8::1, 203.0.113.9', '203.0.113.9', 'an unclosed bracket on the left'],
  ['[2001:db8::1', '10.0.0.1', 'an unclosed bracket'],
  ['::ffff:203.0.113.9', '203.0.113.9', 'IPv4 written as IPv6'],
  ['::ffff:cb00:7109', '203.0.113.9', 'IPv4 written as IPv6, in hexadecimal'],
  ['2001:0DB8:0000::0003', '2001:db8::3', 'IPv6 in another spelling'],
  ['[FE80:0:0:0:0:0:0:1%eth0]:80', 'fe80::1', 'IPv6 in another spelling, with a zone'],
  ['203.0.113.9, ::ffff:a02:202', '203.0.113.9', 'a proxy written as IPv6, in hexadecimal'],
  ['203.0.113.9, ::ffff:10.2.2.2', '203.0.113.9', 'a proxy written as IPv6'],
  ['203.0.113.9, fd12::1', '203.0.113.9', 'an IPv6 proxy'],
  ['fe80::1%eth0', 'fe80::1', 'the zone is ignored'],
  ['999.1.1.1', '10.0.0.1', 'not an address'],
  ['0x7f.1', '10.0.0.1', 'an unusual number format'],
  ['127.1', '10.0.0.1', 'a short form'],
  ['203.0.113.9"', '10.0.0.1', 'a stray quote'],
  ['localhost', '10.0.0.1', 'a name'],
]

for (const [value, client, why] of X_FORWARDED_FOR)
  t.test(`clientAddress() reads X-Forwarded-For "${value}": ${why}`, async (t) => {
    t.equal(clientAddress('10.0.0.1', value, { header: 'x-forwarded-for', trusted }), client)
  })

const FORWARDED: readonly Case[] = [
  ['for=203.0.113.9', '203.0.113.9', 'RFC 7239 section 4'],
  ['For="203.0.113.9"', '203.0.113.9', 'names in any case, values in quotes'],
  ['for="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::17', 'IPv6 with a port'],
  ['for=192.0.2.60;proto=http;by=203.0.113.43', '192.0.2.60', 'with other parameters'],
  ['proto=http;for=192.0.2.60', '192.0.2.60', 'in any order'],
  [
    'for=6.6.6.6, for=203.0.113.9, for=10.2.2.2;by=10.0.0.1',
    '203.0.113.9',
    'the rightmost untrusted address',
  ],
  ['for="6.6.6.6, for=203.0.113.9', '203.0.113.9', 'an unclosed quote of the client hides no entry'],
  ['for=6.6.6.6;for=203.0.113.9', '10.0.0.1', 'twice in one element is invalid'],
  ['for=_hidden', '10.0.0.1', 'a hidden name'],
  ['for=unknown', '10.0.0.1', 'an unknown address'],
  ['by=203.0.113.9', '10.0.0.1', 'without a for parameter'],
  ['xfor=203.0.113.9', '10.0.0.1', 'another parameter'],
  ['203.0.113.9', '10.0.0.1', 'the format of X-Forwarded-For'],
]

for (const [value, client, why] of FORWARDED)
  t.test(`clientAddress() reads Forwarded ${value}: ${why}`, async (t) => {
    t.equal(clientAddress('10.0.0.1', value, { header: 'forwarded', trusted }), client)
  })

t.test('clientAddress() returns an address for any header value', async (t) => {
  const value = `${'10.0.0.2, '.repeat(1_600)}x`
  t.equal(clientAddress('10.0.0.1', value, { header: 'x-forwarded-for', trusted }), '10.0.0.1')
})

t.test('compileTrustedProxies() compares addresses by network prefix', async (t) => {
  for (const address of ['10.0.0.0', '10.255.255.255', '192.0.2.7', 'fd12:3456::1'])
    t.ok(trusted.has(address), address)
  for (const address of [
    '11.0.0.0',
    '9.255.255.255',
    '192.0.2.8',
    'fe00::1',
    '::1',
    '',
    'x',
    '10.0.0.1, 10.0.0.1',
  ])
    t.notOk(trusted.has(address), address)
  t.equal(compileTrustedProxies([]), undefined)
  t.throws(() => compileTrustedProxies(['everybody']), { message: /everybody/ })
})
