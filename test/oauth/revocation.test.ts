import t from 'tap'
import { readRevocation, writeRevocation } from '../../oauth/revocation.ts'
import { aRevocation } from '../fixtures/a-revocation.ts'

t.test('readRevocation() returns the revocation that writeRevocation() wrote', async (t) => {
  for (const revocation of [
    aRevocation({ grant: 'g' }),
    aRevocation({ issuer: 'https://a.test', token: 't', atSeconds: 1, expiresAtSeconds: 2 }),
    aRevocation({ subject: 's', atSeconds: 0 }),
  ])
    t.same(readRevocation(writeRevocation(revocation)), revocation)
})

t.test('readRevocation() returns undefined for an entry without a valid subject or grant', async (t) => {
  const junk = [
    '',
    'null',
    '[]',
    '"g"',
    '7',
    '{',
    '{}',
    '{"iss":"https://a.test"}',
    '{"grant":null}',
    '{"grant":7}',
    '{"grant":["g"]}',
    '{"grant":""}',
    '{"grant":"a b"}',
    '{"grant":"a\\nb"}',
    `{"grant":"${'g'.repeat(257)}"}`,
    `{"grant":"g","x":"${'x'.repeat(5_000)}"}`,
    '{"grant":"g","token":7}',
    '{"grant":"g","iss":7}',
    '{"grant":"g","at":"1"}',
    '{"grant":"g","exp":-1}',
    '{"grant":"g","exp":1e400}',
    '{"__proto__":{"grant":"g"}}',
    '{"constructor":"g"}',
    '['.repeat(100_000),
  ]
  for (const text of junk) t.equal(readRevocation(text), undefined, text.slice(0, 40))
})
