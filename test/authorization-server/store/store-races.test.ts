import t, { type Test } from 'tap'
import { createAccounts } from '../../../authorization-server/accounts/accounts.ts'
import { hashPassword, MINIMUM_COST } from '../../../authorization-server/accounts/password-hash.ts'
import { createAdministration } from '../../../authorization-server/administration/administration.ts'
import { createRememberedConsents } from '../../../authorization-server/consent/remembered-consents.ts'
import { endSession, endSessions, readEndMark } from '../../../authorization-server/store/end-sessions.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { endAllGrants } from '../../../authorization-server/store/stored-grants.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { holdStore } from '../../fixtures/hold-store.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { knownClient, makePkce, registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'
import { startEngine } from '../../fixtures/start-engine.ts'
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

  await endings(t, stores, engine.stop === undefined ? 'all' : 'some')
}

const SCOPE = 'openid courses:read'
const PASSWORD = 'correct horse battery staple'

/** Ends sessions and grants during a request that the test holds before one of its writes. */
async function endings(
  t: Test,
  [store, other]: readonly [Store, Store],
  combinations: 'all' | 'some',
): Promise<void> {
  const nowSeconds = () => Math.floor(Date.now() / 1_000)
  const passwordHash = await hashPassword(PASSWORD, Buffer.alloc(16), MINIMUM_COST)
  const held = holdStore(store)
  const accounts = createAccounts({
    store: store.accounts,
    development: false,
    nowSeconds,
    readEndMark: (accountId) => readEndMark(store, accountId),
  })
  const consents = createRememberedConsents({
    store: held.store,
    rememberSeconds: 3_600,
    includesLocalApps: false,
    nowSeconds,
  })
  const on = await startEngine(t, {
    store: held.store,
    consents,
    integrations: [
      {
        clientId: 'web',
        clientName: 'Web',
        redirectUris: ['https://web.example.com/a'],
        clientSecret: undefined,
      },
    ],
    findAccount: (id) => accounts.find(id),
  })
  const client = knownClient(on, {
    clientId: 'web',
    clientSecret: undefined,
    redirectUri: 'https://web.example.com/a',
  })
  const administer = createAdministration({
    store: other,
    accounts: createAccounts({ store: other.accounts, development: false, nowSeconds }),
    localSignIn: true,
    passwordLinks: { create: async () => '', end: async () => undefined },
    secondFactors: { remove: async () => false },
    configured: [],
    nowSeconds,
    onEvent: () => undefined,
  })
  const run = async (action: string, input: object): Promise<void> => {
    const result = await administer(action, input)
    if ('rejected' in result) throw new Error(`${action}: ${result.message}`)
  }
  const authorizeUrl = (scope = SCOPE): URL => client.authorizeUrl(scope, makePkce().challenge)

  /** Opens a browser with a new account. Each function of the browser continues its authorization. */
  async function aPerson(username: string) {
    const id = username.replaceAll(' ', '-')
    const account = { id, username: id, name: username, email: undefined, passwordHash }
    await store.accounts.insert({ ...account, origin: 'operator', createdAtSeconds: nowSeconds() })
    const browser = openBrowser(on.baseUrl)
    const visit = async (url: string | URL): Promise<string> => {
      const page = await browser.visit(url)
      return page.left ? page.location.href : page.url
    }
    const operate = async (
      page: string,
      operation: string,
      query: Record<string, string>,
    ): Promise<string> => {
      const shown = await browser.visit(`${page}/${operation}?${new URLSearchParams(query)}`)
      return shown.left ? '' : String(JSON.parse(shown.html).address)
    }
    const signIn = async (): Promise<string> => {
      const mark = await readEndMark(store, id)
      return operate(await visit(authorizeUrl()), 'sign-in', { account: id, mark })
    }
    return { id, visit, operate, signIn }
  }
  type Person = Awaited<ReturnType<typeof aPerson>>

  const sessionsOf = (id: string) => store.artifacts('Session').listByAccount(id)
  const grantsOf = (id: string) => store.artifacts('Grant').listByAccount(id)

  const ENDS: Readonly<Record<string, (person: Person) => Promise<unknown>>> = {
    'session end of the account': ({ id }) => run('session end', { account: id }),
    'session end of the session': async ({ id }) => {
      for (const { idHash } of await other.artifacts('Session').listByAccount(id))
        await run('session end', { session: idHash })
    },
    'sign-out of the browser': async ({ id }) => {
      for (const { payload } of await other.artifacts('Session').listByAccount(id))
        await endSession(other, { accountId: id, uid: String(payload['uid']) })
    },
    'sign-out of all other browsers': ({ id }) => endSessions(other, id, 'another session'),
    'account disable and enable': async ({ id }) => {
      await run('account disable', { account: id })
      await run('account enable', { account: id })
    },
    'account reset-password': ({ id }) =>
      run('account reset-password', { account: id, password: `another ${PASSWORD}` }),
  }
  /** Each request prepares the person, and returns the write to hold and the address to visit. */
  const REQUESTS = {
    'an authorization request': async (person: Person) => {
      await person.visit(await person.signIn())
      return { at: 'Interaction.upsertBounded', url: authorizeUrl('openid courses:write') }
    },
    'the request after the consent': async (person: Person) => {
      const page = await person.visit(await person.signIn())
      const url = await person.operate(page, 'consent', { scopes: SCOPE })
      return { at: 'AuthorizationCode.upsert', url }
    },
    'the request after the sign-in': async (person: Person) => ({
      at: 'Interaction.upsertBounded',
      url: await person.signIn(),
    }),
  }

  // Each request has its own protection. All ends of several sessions share one function.
  const ends = Object.entries(ENDS).slice(0, combinations === 'all' ? undefined : 2)
  for (const [request, prepare] of Object.entries(REQUESTS))
    for (const [end, execute] of ends) {
      const needsSession = end === 'session end of the session' || end === 'sign-out of the browser'
      if (needsSession && request === 'the request after the sign-in') continue
      t.test(`${end} during ${request} leaves no session and no grant`, async (t) => {
        const person = await aPerson(`${request.split(' ').at(-1)} ${Object.keys(ENDS).indexOf(end)}`)
        const { at, url } = await prepare(person)
        const hold = held.hold(at)
        const visited = person.visit(url)
        await hold.reached
        await execute(person)
        hold.release()
        const { searchParams } = new URL(await visited)
        t.equal(searchParams.get('error'), 'login_required')
        t.strictSame(await sessionsOf(person.id), [])
        t.strictSame(await grantsOf(person.id), [])
      })
    }

  t.test('a session whose ID changes during its end has ended', async (t) => {
    const person = await aPerson('changing')
    const page = await person.visit(await person.signIn())
    const url = await person.operate(page, 'consent', { scopes: SCOPE })
    const ending = holdStore(other)
    const hold = ending.hold('Session.destroyByHash')
    const [session] = await sessionsOf(person.id)
    const uid = String(session?.payload['uid'])
    const ended = endSession(ending.store, { accountId: person.id, uid })
    await hold.reached
    t.match(await person.visit(url), 'code=')
    hold.release()
    t.equal((await ended).length, 1)
    t.strictSame(await sessionsOf(person.id), [])
  })

  t.test('a password that changes during a sign-in ends the sign-in', async (t) => {
    const person = await aPerson('sign-in')
    const reading = held.hold('SessionsEnd.find')
    const slow = createAccounts({
      store: store.accounts,
      development: false,
      nowSeconds,
      readEndMark: (accountId) => readEndMark(held.store, accountId),
    }).verify(person.id, PASSWORD)
    await reading.reached
    await run('account reset-password', { account: person.id, password: `another ${PASSWORD}` })
    reading.release()
    t.equal(await slow, undefined)
    t.match(await accounts.verify(person.id, `another ${PASSWORD}`), { id: person.id })
  })

  for (const [removal, remove] of Object.entries({
    'the removal of the app': (accountId: string) =>
      endAllGrants(other, { accountId, client: 'web' }, () => undefined),
    'the removal of all apps': (accountId: string) => endAllGrants(other, { accountId }, () => undefined),
    'grant revoke of the client': () => run('grant revoke', { client: 'web' }),
  })) {
    t.test(`${removal} ends the grant of a concurrent authorization without a page`, async (t) => {
      const person = await aPerson(`silent ${removal.split(' ').at(-1)}`)
      const page = await person.visit(await person.signIn())
      await person.visit(await person.operate(page, 'consent', { scopes: SCOPE }))
      const hold = held.hold('Grant.upsert')
      const visited = person.visit(authorizeUrl())
      await hold.reached
      await remove(person.id)
      hold.release()
      t.match(await visited, `${on.baseUrl}${ENDPOINTS.interaction}/`, 'the consent page')
      t.strictSame(await grantsOf(person.id), [])
    })

    t.test(`${removal} during the consent leaves no remembered consent`, async (t) => {
      const person = await aPerson(`asked ${removal.split(' ').at(-1)}`)
      const page = await person.visit(await person.signIn())
      const hold = held.hold('Grant.upsert')
      const consented = person.operate(page, 'consent', { scopes: SCOPE })
      await hold.reached
      await remove(person.id)
      hold.release()
      await person.visit(await consented)
      t.match(
        await person.visit(authorizeUrl()),
        `${on.baseUrl}${ENDPOINTS.interaction}/`,
        'the consent page',
      )
    })
  }

  t.test('a session that ends during the consent leaves no grant and no remembered consent', async (t) => {
    const person = await aPerson('consenting')
    const page = await person.visit(await person.signIn())
    const hold = held.hold('Grant.upsert')
    const consented = person.operate(page, 'consent', { scopes: SCOPE })
    await hold.reached
    await run('account reset-password', { account: person.id, password: PASSWORD })
    hold.release()
    t.equal(await consented, 'undefined', 'the interaction has expired')
    t.strictSame(await grantsOf(person.id), [])
    t.strictSame(await store.artifacts('Consent').listByAccount(person.id), [])
  })
}
