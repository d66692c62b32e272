import { generateKeyPairSync, sign, verify } from 'node:crypto'
import t from 'tap'
import { signatureFromDer } from '../../../gateway/upstream-identity/assertions.ts'
import { signatureToDer } from '../../../oauth/dpop/check-proof.ts'

const DATA = Buffer.from('header.claims')
const CURVES = [
  { namedCurve: 'P-256', size: 32 },
  { namedCurve: 'P-384', size: 48 },
  { namedCurve: 'P-521', size: 66 },
]

t.test('signatureToDer() accepts only signatures of the expected length', async (t) => {
  const lengths = [0, 1, 31, 32, 63, 65, 70, 71, 72, 96, 128, 132]
  for (const length of lengths) t.equal(signatureToDer(Buffer.alloc(length, 1), 32), undefined, `${length}`)
})

t.test('signatureToDer() encodes each integer with the fewest bytes', async (t) => {
  const der = (r: string, s: string) =>
    signatureToDer(Buffer.from(r.padStart(8, '0') + s.padStart(8, '0'), 'hex'), 4)?.toString('hex')
  t.equal(der('01', '02'), '3006020101020102')
  t.equal(der('00', '7f'), '300602010002017f')
  t.equal(der('80', '00ff'), '300802020080020200ff')
  t.equal(der('ff000000', '7f000000'), '300d020500ff00000002047f000000')
  const longest = Buffer.concat([Buffer.alloc(66, 0xff), Buffer.alloc(66, 0xff)])
  t.equal(
    signatureToDer(longest, 66)?.subarray(0, 7).toString('hex'),
    '30818a024300ff',
    'a length of two bytes',
  )
})

for (const { namedCurve, size } of CURVES)
  t.test(`OpenSSL accepts signatures of ${namedCurve} in both forms`, async (t) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const raw = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
    for (let count = 0; count < 20; count++) {
      const der = signatureToDer(sign('sha256', DATA, raw), size) ?? Buffer.alloc(0)
      if (!verify('sha256', DATA, publicKey, der)) t.fail(der.toString('hex'))
    }
    const zero = signatureToDer(Buffer.alloc(size * 2), size) ?? Buffer.alloc(0)
    t.notOk(verify('sha256', DATA, publicKey, zero), 'two zeros are not a signature')
  })

t.test('signatureFromDer() inverts signatureToDer()', async (t) => {
  for (const text of ['0000000100000002', '00000000000000ff', '80000000000000ff', 'ffffffff7fffffff']) {
    const signature = Buffer.from(text, 'hex')
    t.same(signatureFromDer(signatureToDer(signature, 4) ?? signature, 4), signature, text)
  }
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // On average, one of 128 signatures contains an integer with a leading zero byte.
  for (let count = 0; count < 400; count++) {
    const signature = signatureFromDer(sign('sha256', DATA, privateKey), 32)
    if (signature.length !== 64) t.fail(`${signature.length} bytes`)
    if (!verify('sha256', DATA, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature))
      t.fail(signature.toString('hex'))
  }
})
