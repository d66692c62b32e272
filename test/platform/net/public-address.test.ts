import t from 'tap'
import { isPublicAddress } from '../../../platform/net/public-address.ts'

/** The first and the last address of public networks next to special networks. */
const PUBLIC = [
  '1.0.0.0',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2000::1',
  '2001:200::1',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2003::1',
  '2606:4700:4700::1111',
  '3ffe::1',
]

t.test('an address beside a special network is public', async (t) => {
  for (const address of PUBLIC) t.equal(isPublicAddress(address), true, address)
})

t.test('a text that is not one plain address is not public', async (t) => {
  for (const text of [
    '',
    'localhost',
    '8.8.8.8:53',
    '8.8.8.8/32',
    '134744072',
    '0x8.8.8.8',
    '08.8.8.8',
    '[2606:4700:4700::1111]',
    '2606:4700:4700::1111%eth0',
    ' 8.8.8.8',
  ])
    t.equal(isPublicAddress(text), false, JSON.stringify(text))
})
