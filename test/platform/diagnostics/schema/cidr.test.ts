import t from 'tap'
import { parseCidr } from '../../../../platform/diagnostics/schema/cidr.ts'

t.test('parseCidr() rejects invalid blocks and blocks that contain every address', async (t) => {
  for (const text of [
    '',
    'everybody',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0/8',
    '10.0.0.0/8/8',
    ' 10.0.0.0/8',
    '0.0.0.0/0',
    '::/0',
    'fd00::/129',
    '::ffff:10.0.0.0/104',
    'fe80::1%eth0',
    'example.com',
  ])
    t.equal(parseCidr(text), undefined, text)
})

t.test('parseCidr() reads blocks and single addresses', async (t) => {
  t.strictSame(parseCidr('10.0.0.0/8'), { address: '10.0.0.0', prefixBits: 8, family: 'ipv4' })
  t.strictSame(parseCidr('128.0.0.0/1'), { address: '128.0.0.0', prefixBits: 1, family: 'ipv4' })
  t.strictSame(parseCidr('192.0.2.7'), { address: '192.0.2.7', prefixBits: 32, family: 'ipv4' })
  t.strictSame(parseCidr('fd00::/8'), { address: 'fd00::', prefixBits: 8, family: 'ipv6' })
  t.strictSame(parseCidr('::1'), { address: '::1', prefixBits: 128, family: 'ipv6' })
})
