import t from 'tap'
import { REDIS_KEYS } from '../../../authorization-server/store/redis.ts'

t.test('the keys in Redis have fixed names, because servers of several versions share them', async (t) => {
  const keys = Object.entries(REDIS_KEYS).map(([name, key]) => [
    name,
    typeof key === 'string' ? key : (key as (...parts: string[]) => string)('A', 'B'),
  ])
  t.strictSame(Object.fromEntries(keys), {
    schema: '{scopegate}:schema',
    probe: '{scopegate}:write-probe',
    artifact: '{scopegate}:artifact:A:B',
    uid: '{scopegate}:uid:A:B',
    userCode: '{scopegate}:user-code:A:B',
    grant: '{scopegate}:of-grant:A',
    ofAccount: '{scopegate}:of-account:A',
    bounded: '{scopegate}:bounded:A',
    sourceOf: '{scopegate}:source-of:A',
    sources: '{scopegate}:sources:A',
    ofSource: '{scopegate}:of-source:A:',
    addressOf: '{scopegate}:address-of:A',
    ofAddress: '{scopegate}:of-address:A:',
    addressesOf: '{scopegate}:addresses:A:',
    account: '{scopegate}:account:A',
    username: '{scopegate}:username:A',
    identity: '{scopegate}:identity:A',
    origin: '{scopegate}:accounts:A',
    attempts: '{scopegate}:attempts:A',
    attemptCounters: '{scopegate}:attempt-counters',
    removals: '{scopegate}:removals',
    migration: '{scopegate}:migration',
  })
})
