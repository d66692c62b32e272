import t from 'tap'
import { countText, createCounter } from '../../../authorization-server/console/counts.ts'
import { readScreen, SCREEN_ROWS } from '../../../authorization-server/console/read-screen.ts'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { toGrant } from '../../../authorization-server/store/stored-grants.ts'
import { STORE_ENGINES } from '../../fixtures/store-engines.ts'

const GRANTS = 2 * SCREEN_ROWS + 20

for (const engine of STORE_ENGINES.filter(({ name }) => ['SQLite', 'Redis', 'PostgreSQL'].includes(name)))
  t.test(`${engine.name}: pages of a list contain each grant once, also after a revocation`, async (t) => {
    const running = await engine.start(t)
    const store = await running.open({ now: Math.floor(Date.now() / 1_000) })
    t.teardown(() => store.close())
    await store.accounts.insert({
      id: 'alice',
      username: 'alice',
      name: 'Alice',
      email: undefined,
      origin: 'operator',
      createdAtSeconds: 1,
    })
    const grants = store.artifacts('Grant')
    for (let index = 0; index < GRANTS; index += 1) {
      const clientId = index % 10 === 0 ? 'rare' : 'common'
      await grants.upsert(`grant-${index}`, { accountId: 'alice', clientId, iat: index }, 3_600)
    }
    const counts = await createCounter(store, () => 0)()
    t.equal(countText(counts.grants), String(GRANTS))
    t.equal(counts.grantsOfClients.get('rare'), GRANTS / 10)

    const seen: string[] = []
    const first = await readScreen(store, 'Grant', toGrant, null)
    t.equal(first.rows.length, SCREEN_ROWS)
    seen.push(...first.rows.map(({ grant }) => grant))
    // The next page begins after the last shown grant, not after a number of grants.
    await grants.revokeByGrantHash(seen[0] ?? '')
    for (let next = first.next; next !== undefined; ) {
      const screen = await readScreen(store, 'Grant', toGrant, next)
      seen.push(...screen.rows.map(({ grant }) => grant))
      next = screen.next
    }
    t.strictSame(
      seen.toSorted(),
      Array.from({ length: GRANTS }, (_, index) => hashId(`grant-${index}`)).toSorted(),
    )
    const rare = await readScreen(
      store,
      'Grant',
      (artifact) => {
        const grant = toGrant(artifact)
        return grant?.clientId === 'rare' ? grant : undefined
      },
      'not a position',
    )
    t.equal(rare.next, undefined)
    t.ok(rare.rows.length >= GRANTS / 10 - 1)
  })
