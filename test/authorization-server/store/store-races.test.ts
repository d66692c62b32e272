import t, { type Test } from 'tap'
import type { Store } from '../../../authorization-server/store/store.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'
import { type RunningEngine, STORE_ENGINES } from '../../fixtures/store-engines.ts'

// Number of repetitions of each race. `npm run soak:stores` sets 200.
const ROUNDS = Number(process.env['STORE_RACE_ROUNDS'] ?? 4)
const CALLERS = 100

for (const engine of STORE_ENGINES)
  t.test(`${engine.name}: each race has one winner`, async (t) => races(t, await engine.start(t)))

async function races(t: Test, engine: RunningEngine): Promise<void> {
  const clock = { now: Math.floor(Date.now() / 1_000) }
  const stores = [await engine.open(clock), await engine.open(clock)] as const
  t.teardown(async () => {
    for (const store of stores) await store.close()
  })

  /**
   * Runs the operation for all callers concurrently. The callers use two stores alternately.
   * @returns the results in the order of the callers.
   */
  const atOnce = <T>(work: (store: Store, caller: number) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: CALLERS }, (_, i) => work(stores[i % 2 === 0 ? 0 : 1], i)))

  async function rounds(t: Test, round: (id: string) => Promise<number>): Promise<void> {
    const winners: number[] = []
    for (let i = 0; i < ROUNDS; i += 1) winners.push(await round(`round ${i}`))
    t.same(winners, Array(ROUNDS).fill(1))
  }

  t.test(`one of ${CALLERS} concurrent callers consumes a code`, async (t) =>
    rounds(t, async (id) => {
      await stores[0].artifacts('AuthorizationCode').upsert(id, { jti: id }, 600)
      const results = await atOnce((store) => store.artifacts('AuthorizationCode').consume(id))
      return results.filter(Boolean).length
    }),
  )

  t.test(`one of ${CALLERS} concurrent callers claims an ID`, async (t) =>
    rounds(t, async (id) => {
      const results = await atOnce((store) => store.artifacts('ReplayDetection').claim(id, 600))
      return results.filter(Boolean).length
    }),
  )

  t.test(`one of ${CALLERS} concurrent callers exchanges a token, and only this caller writes`, async (t) =>
    rounds(t, async (id) => {
      await stores[0].artifacts('RefreshToken').upsert(id, { jti: id, grantId: id }, 600)
      const next = (caller: number) => `${id}, caller ${caller}`
      const results = await atOnce((store, caller) =>
        store.exchange({ model: 'RefreshToken', id }, [
          { model: 'AccessToken', id: next(caller), payload: { grantId: id }, expiresInSeconds: 600 },
        ]),
      )
      const written = await atOnce((store, caller) => store.artifacts('AccessToken').find(next(caller)))
      t.same(
        written.map((artifact) => artifact !== undefined),
        results,
        id,
      )
      return results.filter(Boolean).length
    }),
  )

  t.test('no token remains after a concurrent exchange and revocation', async (t) =>
    rounds(t, async (id) => {
      const [one, two] = stores
      const families = Array.from({ length: 10 }, (_, i) => `${id}, family ${i}`)
      for (const grantId of families)
        await one.artifacts('RefreshToken').upsert(grantId, { jti: grantId, grantId }, 600)
      await Promise.all(
        families.flatMap((grantId) => [
          one.exchange({ model: 'RefreshToken', id: grantId }, [
            { model: 'RefreshToken', id: `after ${grantId}`, payload: { grantId }, expiresInSeconds: 600 },
          ]),
          two.artifacts('Grant').revokeByGrantId(grantId),
        ]),
      )
      for (const grantId of families)
        t.equal(await one.artifacts('RefreshToken').find(`after ${grantId}`), undefined, grantId)
      return 1
    }),
  )

  t.test(`${CALLERS} uses of a refresh token at two servers get one response`, async (t) => {
    const one = await startServer(t, engine.config)
    const two = await startServer(t, { ...engine.config, dataDir: one.dataDir, issuer: one.baseUrl })
    const client = await registerClient(one)
    const browser = openBrowser(one.baseUrl)
    let { refreshToken } = await client.obtainTokens({ browser, scope: 'openid' })
    await rounds(t, async () => {
      const responses = await Promise.all(
        Array.from({ length: CALLERS }, async (_, i) => {
          const url = `http://127.0.0.1:${(i % 2 === 0 ? one : two).port}${ENDPOINTS.token}`
          const form = {
            grant_type: 'refresh_token',
            refresh_token: refreshToken,
            client_id: client.clientId,
          }
          // Repeats a request with status 503, because a busy store can respond too late.
          for (;;) {
            const response = await send(url, { form })
            if (response.status !== 503) return response
          }
        }),
      )
      t.same(new Set(responses.map(({ status }) => status)), new Set([200]))
      const [first] = responses
      if (first !== undefined) refreshToken = client.readTokens(first).refreshToken
      return new Set(responses.map(({ text }) => text)).size
    })
  })
}
