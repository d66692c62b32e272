import t from 'tap'
import {
  addKeys,
  FORCEABLE,
  keyStates,
  type PublishedKeys,
  removeKeys,
  retireRefusals,
} from '../../../authorization-server/keys/key-states.ts'

const ACCESS_TOKEN_SECONDS = 900
const MARGIN_SECONDS = 360
const T = 1_800_000_000

const key = (kid: string, times: { notBefore?: number; retireAfter?: number } = {}) => ({
  kty: 'EC',
  crv: 'P-256',
  kid,
  ...times,
})
const rsa = (kid: string, times: { notBefore?: number } = {}) => ({ kty: 'RSA', kid, ...times })
type Key = ReturnType<typeof key> | ReturnType<typeof rsa>
const at = (nowSeconds: number) => ({ nowSeconds, accessTokenSeconds: ACCESS_TOKEN_SECONDS })
const statesAt = (nowSeconds: number, ...keys: readonly Key[]) => keyStates({ keys }, at(nowSeconds))
const show = (nowSeconds: number, ...keys: readonly Key[]) =>
  statesAt(nowSeconds, ...keys).map(({ kid, state }) => `${kid} ${state}`)

t.test('keyStates() changes exactly at notBefore and at the time of retirement', async (t) => {
  const keys = [key('old'), key('new', { notBefore: T })]
  const retireFrom = T + ACCESS_TOKEN_SECONDS + MARGIN_SECONDS
  t.same(show(T - 1, ...keys), ['old signs', 'new next'])
  t.same(show(T, ...keys), ['old old', 'new signs'])
  t.same(show(T + 1, ...keys), ['old old', 'new signs'])
  t.same(show(retireFrom - 1, ...keys), ['old old', 'new signs'])
  t.same(show(retireFrom, ...keys), ['old done', 'new signs'])
  t.strictSame(statesAt(T - 1, ...keys), [
    { kid: 'old', type: 'ES256', notBefore: undefined, signsUntil: T, state: 'signs', retireFrom },
    { kid: 'new', type: 'ES256', notBefore: T, signsUntil: undefined, state: 'next', retireFrom: undefined },
  ])
})

t.test('keyStates() handles two successive rotations, and handles each algorithm separately', async (t) => {
  const second = T + 5_000
  const keys = [key('a'), rsa('r'), key('b', { notBefore: T }), key('c', { notBefore: second })]
  t.same(show(T, ...keys), ['a old', 'b signs', 'c next', 'r signs'])
  t.same(show(second, ...keys), ['a done', 'b old', 'c signs', 'r signs'])
  t.same(
    statesAt(second, ...keys).map(({ retireFrom }) => retireFrom),
    [T + 1_260, second + 1_260, undefined, undefined],
  )
})

t.test('keyStates() uses the longer token lifetime from the time of the rotation', async (t) => {
  const keys = [key('a', { retireAfter: T + 9_000 }), key('b', { notBefore: T })]
  t.same(show(T + 8_999, ...keys), ['a old', 'b signs'])
  t.same(show(T + 9_000, ...keys), ['a done', 'b signs'])
  const shorter = [key('a', { retireAfter: T + 10 }), key('b', { notBefore: T })]
  t.same(show(T + 1_259, ...shorter), ['a old', 'b signs'], 'the lifetime is longer now')
})

t.test('keyStates() returns no retirement time for a key if its successor has no notBefore', async (t) => {
  const states = statesAt(T, key('new'), key('old', { retireAfter: 1 }))
  t.same(
    states.map(({ kid, state, retireFrom }) => [kid, state, retireFrom]),
    [
      ['old', 'old', undefined],
      ['new', 'signs', undefined],
    ],
  )
  t.same(retireRefusals('old', states, { servers: [], nowSeconds: T }), [
    { kid: 'old', reason: 'unknown_since' },
  ])
})

t.test('addKeys() appends the keys, and removeKeys() cancels a rotation', async (t) => {
  const set = { keys: [key('a'), rsa('r')] }
  const time = { ...at(T - 600), signsFrom: T }
  const rotated = addKeys(set, [key('b')], time)
  t.strictSame(rotated.keys, [
    key('a', { retireAfter: T + ACCESS_TOKEN_SECONDS + MARGIN_SECONDS }),
    rsa('r'),
    key('b', { notBefore: T }),
  ])
  t.strictSame(removeKeys(rotated, new Set(['b']), time), set, 'cancelled')
  t.strictSame(removeKeys(rotated, new Set(['a']), at(T + 9_000)).keys, [
    rsa('r'),
    key('b', { notBefore: T }),
  ])
})

const server = (given: Partial<PublishedKeys>): PublishedKeys => ({
  url: 'http://as.test',
  kids: ['old', 'new'],
  signs: { ES256: 'new' },
  clockDifferenceSeconds: 30,
  ...given,
})

t.test('retireRefusals() names each reason, and --force overrides only some of them', async (t) => {
  const keys = [key('old'), key('new', { notBefore: T }), key('next', { notBefore: T + 5_000 })]
  const reasons = (kid: string, nowSeconds: number, ...servers: readonly PublishedKeys[]) =>
    retireRefusals(kid, statesAt(nowSeconds, ...keys), { servers, nowSeconds }).map(({ reason }) => reason)
  const done = T + 1_260
  t.same(reasons('missing', done), ['unknown'])
  t.same(reasons('new', done), ['signs'])
  t.same(reasons('old', done - 1), ['tokens'])
  t.same(reasons('old', done), [])
  t.same(reasons('next', T + 5_000 - 61), [], 'cancels the rotation')
  t.same(reasons('next', T + 5_000 - 60), [])
  t.same(reasons('next', T + 5_000 - 59), ['starts'])
  t.same(reasons('old', done, server({})), [])
  t.same(reasons('old', done, server({ failed: 'did not respond' }), server({})), ['server'])
  t.same(reasons('old', done, server({ signs: { ES256: 'old' } })), ['server_signs'])
  t.same(reasons('old', done, server({ kids: ['old'] })), ['server_lacks'])
  t.same(reasons('old', done, server({ clockDifferenceSeconds: 31 })), ['clock'])
  t.same(reasons('old', done, server({ clockDifferenceSeconds: -31 })), ['clock'])
  t.same(reasons('old', done, server({ clockDifferenceSeconds: undefined })), [])
  t.same([...FORCEABLE].toSorted(), ['clock', 'server', 'tokens', 'unknown_since'])
})
