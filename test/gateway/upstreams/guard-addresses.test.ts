import { isIP } from 'node:net'
import t from 'tap'
import { guardAddresses, isReachableBySources } from '../../../gateway/upstreams/guard-addresses.ts'

const FORBIDDEN = [
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '169.254.169.254',
  '192.0.0.192',
  '100.100.100.200',
  '168.63.129.16',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fe80::1',
  'ff02::1',
  'fd00:ec2::254',
]
const PERMITTED = ['10.0.0.1', '172.16.0.1', '192.168.0.1', '93.184.216.34', 'fd12::1', '2606:2800:220::1']

const of = (address: string) => ({ address, family: isIP(address) })

t.test(
  'an upstream of a source cannot have a loopback, link-local or metadata service address',
  async (t) => {
    for (const address of FORBIDDEN) t.equal(isReachableBySources(address, isIP(address)), false, address)
    for (const address of PERMITTED) t.equal(isReachableBySources(address, isIP(address)), true, address)
  },
)

t.test('a lookup drops forbidden addresses, and fails without another address', async (t) => {
  const all = guardAddresses(async () => ['127.0.0.1', '10.0.0.1', '::1'].map(of))
  t.same(await all('billing.test'), [of('10.0.0.1')])
  const none = guardAddresses(async () => FORBIDDEN.map(of))
  await t.rejects(none('billing.test'), { code: 'ENOTFOUND' })
  t.equal((await none('localhost')).length, FORBIDDEN.length, 'the operator has permitted this name')
})
