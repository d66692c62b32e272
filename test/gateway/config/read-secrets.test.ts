import { join } from 'node:path'
import t from 'tap'
import { readNonceSecret } from '../../../gateway/config/read-secrets.ts'

t.test('readNonceSecret() requires a strong secret, and only where nonces are required', async (t) => {
  const folder = t.testdir({ good: `${'s'.repeat(40)}\n`, short: 'secret', empty: '' })
  const of = (name: string) => readNonceSecret({ nonce: 'required', nonceSecretFile: join(folder, name) })
  t.equal(readNonceSecret(undefined), undefined)
  t.equal(readNonceSecret({}), undefined)
  t.equal(readNonceSecret({ nonce: 'off', nonceSecretFile: join(folder, 'absent') }), undefined)
  t.equal(of('good'), 's'.repeat(40))
  for (const name of ['short', 'empty', 'absent']) t.throws(() => of(name), /C350/, name)
  t.throws(() => readNonceSecret({ nonce: 'required' }), /nonceSecretFile/)
})
