import { join } from 'node:path'
import t from 'tap'
import { readNonceSecrets } from '../../../gateway/config/read-secrets.ts'

t.test(
  'readNonceSecrets() requires strong secrets, but only if the configuration requires nonces',
  async (t) => {
    const folder = t.testdir({
      good: `${'s'.repeat(40)}\n`,
      several: `${'n'.repeat(32)}\n\n ${'s'.repeat(40)} \n`,
      short: 'secret',
      'one short': `${'n'.repeat(32)}\nsecret`,
      empty: '',
    })
    const of = (name: string) => readNonceSecrets({ nonce: 'required', nonceSecretFile: join(folder, name) })
    t.equal(readNonceSecrets(undefined), undefined)
    t.equal(readNonceSecrets({}), undefined)
    t.equal(readNonceSecrets({ nonce: 'off', nonceSecretFile: join(folder, 'absent') }), undefined)
    t.same(of('good'), ['s'.repeat(40)])
    t.same(of('several'), ['n'.repeat(32), 's'.repeat(40)])
    for (const name of ['short', 'one short', 'empty', 'absent']) t.throws(() => of(name), /C350/, name)
    t.throws(() => readNonceSecrets({ nonce: 'required' }), /nonceSecretFile/)
  },
)
