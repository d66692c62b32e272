import t from 'tap'
import {
  accountRevocation,
  createRevokedGrantCache,
  grantRevocation,
  keepSeconds,
} from '../../../authorization-server/store/revocation-records.ts'

const context = { issuer: 'https://login.example.com', accessTokenSeconds: 900 }
const NAME = '2_DHKJRYHNqXxReU_RMQ2qLEH3B9FFpQUlOUhcgy3Uk'

t.test('a revocation is stored for the lifetime of a token plus five minutes', async (t) => {
  t.equal(keepSeconds(context), 1_200)
})

t.test('the entry of a grant and the entry of an account have fixed formats', async (t) => {
  t.equal(
    grantRevocation('hash', context, 1_000),
    '{"iss":"https://login.example.com","grant":"hash","at":1000,"exp":1900}',
  )
  t.equal(
    accountRevocation('account-1', context, 1_000),
    `{"iss":"https://login.example.com","subject":"${NAME}","at":253402300799,"exp":1900}`,
  )
})

t.test('createRevokedGrantCache() returns each grant until its tokens have expired', async (t) => {
  let now = 1_000
  const grants = createRevokedGrantCache({ ...context, nowSeconds: () => now })
  grants.add('one')
  now = 1_030
  grants.add('two')
  now = 2_199
  t.same(new Set(grants.all()), new Set(['one', 'two']))
  now = 2_200
  t.same(grants.all(), ['two'])
  now = 2_230
  t.same(grants.all(), [])
})

t.test('createRevokedGrantCache() stores the last 100,000 grants', async (t) => {
  const grants = createRevokedGrantCache({ ...context, nowSeconds: () => 1_000 })
  for (let i = 0; i <= 100_000; i++) grants.add(`grant ${i}`)
  const all = grants.all()
  t.equal(all.length, 100_000)
  t.notOk(all.includes('grant 0'))
})
