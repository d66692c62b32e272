import { randomBytes } from 'node:crypto'
import t from 'tap'
import { decryptSecret, encryptSecret } from '../../../authorization-server/accounts/encrypt-secret.ts'
import { encodeTotpSecret, totpLink } from '../../../authorization-server/accounts/totp.ts'

const secret = Buffer.from('12345678901234567890')

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
