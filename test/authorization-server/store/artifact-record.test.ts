import t from 'tap'
import { fromArtifactRecord, toArtifactRecord } from '../../../authorization-server/store/artifact-record.ts'

const HASH = 'K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols' // hash of the text `secret`
const NONE = {
  grantHash: undefined,
  uidHash: undefined,
  userCodeHash: undefined,
  accountId: undefined,
  consumedAtSeconds: undefined,
}

t.test('toArtifactRecord() hashes each ID and separates the time of consumption', async (t) => {
  t.strictSame(
    toArtifactRecord({
      model: 'AccessToken',
      id: 'secret',
      payload: {
        jti: 'secret',
        grantId: 'secret',
        uid: 'secret',
        userCode: 'secret',
        accountId: 'a',
        consumed: 7,
        scope: 'openid',
      },
    }),
    {
      idHash: HASH,
      payload:
        '{"grantId":"secret","uid":"secret","userCode":"secret","accountId":"a","scope":"openid","jti":null}',
      grantHash: HASH,
      uidHash: HASH,
      userCodeHash: HASH,
      accountId: 'a',
      consumedAtSeconds: 7,
    },
  )
  t.strictSame(toArtifactRecord({ model: 'Grant', id: 'secret', payload: { grantId: 'other' } }), {
    ...NONE,
    idHash: HASH,
    payload: '{"grantId":"other"}',
    grantHash: HASH,
  })
})

t.test('toArtifactRecord() ignores fields of another type', async (t) => {
  const payload = { grantId: 1, uid: null, userCode: {}, accountId: ['a'], consumed: true }
  t.strictSame(toArtifactRecord({ model: 'AccessToken', id: 'secret', payload }), {
    ...NONE,
    idHash: HASH,
    payload: '{"grantId":1,"uid":null,"userCode":{},"accountId":["a"]}',
  })
})

t.test('toArtifactRecord() removes the session cookie from an interaction only', async (t) => {
  const record = (model: string, session: unknown) =>
    toArtifactRecord({ model, id: 'secret', payload: { session } }).payload
  const session = { cookie: 'c', uid: 'u' }
  t.equal(record('Interaction', session), '{"session":{"uid":"u"}}')
  t.equal(record('Session', session), '{"session":{"cookie":"c","uid":"u"}}')
  t.equal(record('Interaction', ['c']), '{"session":["c"]}')
  t.equal(record('Interaction', 'c'), '{"session":"c"}')
  t.equal(record('Interaction', null), '{"session":null}')
  t.strictSame(session, { cookie: 'c', uid: 'u' }, 'the payload of the caller is unchanged')
})

t.test('fromArtifactRecord() restores the ID that the caller has, and the time of consumption', async (t) => {
  const read = (payload: string, id?: string, consumedAtSeconds?: number) =>
    fromArtifactRecord({ payload, consumedAtSeconds }, id)
  t.strictSame(read('{"jti":null,"a":1}', 'id', 7), { a: 1, jti: 'id', consumed: 7 })
  t.strictSame(read('{"jti":null,"a":1}'), { a: 1 })
  t.strictSame(read('{"a":1}', 'id', 0), { a: 1, consumed: 0 })
})

t.test('fromArtifactRecord() reports a damaged payload', async (t) => {
  const fields = { name: 'StoreError', code: 'ERR_STORE_DAMAGED', reason: 'damaged' }
  t.throws(() => fromArtifactRecord({ payload: '{', consumedAtSeconds: undefined }, 'id'), {
    ...fields,
    message: 'A stored artifact is not valid JSON.',
    cause: { name: 'SyntaxError' },
  })
  for (const payload of ['[]', 'null', '7', '"text"'])
    t.throws(() => fromArtifactRecord({ payload, consumedAtSeconds: undefined }, 'id'), {
      ...fields,
      message: 'A stored artifact is not a JSON object.',
    })
})
