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
