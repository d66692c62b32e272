import { randomBytes } from 'node:crypto'
import t from 'tap'
import { decryptSecret, encryptSecret } from '../../../authorization-server/accounts/encrypt-secret.ts'
import { encodeTotpSecret, totpLink, verifyTotp } from '../../../authorization-server/accounts/totp.ts'

const secret = Buffer.from('12345678901234567890')

t.test('verifyTotp() accepts the codes of RFC 6238 appendix B', async (t) => {
  for (const [nowSeconds, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const) {
    const step = Math.floor(nowSeconds / 30)
    const verify = (at: number, lastStep?: number, typed: string = code) =>
      verifyTotp({ secret, code: typed, lastStep, nowSeconds: at })
    t.equal(verify(nowSeconds), step)
    t.equal(verify(nowSeconds, undefined, `${code.slice(0, 3)} ${code.slice(3)}`), step)
    for (const drift of [-30, 30]) t.equal(verify(nowSeconds + drift), step, 'one step of drift')
    for (const drift of [-60, 60]) t.equal(verify(nowSeconds + drift), undefined, 'two steps of drift')
    t.equal(verify(nowSeconds, step - 1), step)
    t.equal(verify(nowSeconds, step), undefined, 'a used code')
    for (const typed of ['', '12345', `${code}0`, 'abcdef', '٠٠٥٩٢٤'])
      t.equal(verify(nowSeconds, 0, typed), undefined)
  }
})

t.test('encodeTotpSecret() and totpLink() return the text for an authenticator app', async (t) => {
  t.equal(encodeTotpSecret(secret), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  t.equal(encodeTotpSecret(Buffer.from('fooba')), 'MZXW6YTB')
  t.equal(encodeTotpSecret(Buffer.from('f')), 'MY')
  t.equal(
    totpLink({ secret, serviceName: 'Learning & platform', username: 'a@b' }),
    'otpauth://totp/Learning%20%26%20platform:a%40b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Learning%20%26%20platform&algorithm=SHA1&digits=6&period=30',
  )
})

t.test('decryptSecret() reads a secret of this account with each cookie key', async (t) => {
  const plain = randomBytes(20)
  const encrypted = encryptSecret(plain, 'account', ['one'])
  t.strictSame(decryptSecret(encrypted, 'account', ['one']), { secret: plain, isOutdated: false })
  t.strictSame(decryptSecret(encrypted, 'account', ['two', 'one']), { secret: plain, isOutdated: true })
  t.not(encryptSecret(plain, 'account', ['one']), encrypted, 'each result is different')
  t.equal(decryptSecret(encrypted, 'account', ['two']), undefined, 'the key is lost')
  t.equal(decryptSecret(encrypted, 'another account', ['one']), undefined)
  for (const damaged of ['', 'x', `${encrypted.slice(0, -4)}AAAA`, encrypted.slice(0, 20)])
    t.equal(decryptSecret(damaged, 'account', ['one']), undefined)
  t.throws(() => encryptSecret(plain, 'account', []), TypeError)
})
