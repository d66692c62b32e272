import t from 'tap'
import { createSeals } from '../../../platform/redis/sealed-value.ts'

const seals = createSeals({ purpose: 'verdict', id: 'issuer', secret: 'a secret' })

t.test('open() returns the sealed text, and each sealed value is different', async (t) => {
  const one = seals('token').close('claims')
  const two = seals('token').close('claims')
  t.notSame(one, two)
  t.equal(seals('token').open(one), 'claims')
  t.equal(seals('token').open(two), 'claims')
  t.notMatch(one.toString('latin1'), 'claims')
})

t.test('open() returns undefined for changed, truncated or foreign values', async (t) => {
  const seal = seals('token')
  const sealed = seal.close('{"active":true}')
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    t.equal(seal.open(changed), undefined, `byte ${at}`)
    t.equal(seal.open(sealed.subarray(0, at)), undefined, `the first ${at} bytes`)
  }
  t.equal(seal.open(Buffer.concat([sealed, Buffer.of(0)])), undefined, 'one extra byte')
  for (const [what, other] of [
    ['another token', seals('token2')],
    ['another issuer', createSeals({ purpose: 'verdict', id: 'issuer2', secret: 'a secret' })('token')],
    ['another purpose', createSeals({ purpose: 'refresh', id: 'issuer', secret: 'a secret' })('token')],
    ['another secret', createSeals({ purpose: 'verdict', id: 'issuer', secret: '' })('token')],
  ] as const) {
    t.equal(seal.open(other.close('{"active":true}')), undefined, what)
    t.not(other.name, seal.name, what)
  }
})

t.test(
  'the name and format of a sealed value are stable, so that instances of several versions can read it',
  async (t) => {
    const seal = seals('token')
    t.equal(seal.name, 'R4wilqTy-Z8vUsbFschy-7ZvBWZW0Zdxli6TKV9pQGA')
    const refresh = createSeals({ purpose: 'refresh', id: 'issuer', secret: 'a secret' })
    t.equal(refresh('token').name, '8sB0KKddaLX37ZLHjVos7cHJIZ4TT_HCsGXsUJjnymc')
    const nonce = '000102030405060708090a0b'
    const tag = 'ae891438dc1d707f1b421ba2f23b2986'
    const sealed = Buffer.from(`01${nonce}${tag}8de03b1be1ab89b040`, 'hex')
    t.equal(seal.open(sealed), 'claims é')
    t.equal(seal.close('claims').length, 1 + 12 + 16 + 6)
    t.equal(seal.open(seal.close('')), '')
    t.equal(seal.close('claims')[0], 1)
  },
)
