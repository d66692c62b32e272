import { join } from 'node:path'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { observeStore, watchStore } from '../../../authorization-server/observe/watch-store.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { type Store, StoreError, type StoreErrorReason } from '../../../authorization-server/store/store.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const failing = (reason: StoreErrorReason, cause?: unknown) =>
  new StoreError('ERR_STORE_UNAVAILABLE', 'not the cause', { reason, cause })

/** Starts the monitoring of a SQLite store. The test sets the results of the probes and controls the time. */
async function startWatching(t: Test, first?: () => Promise<number | undefined>) {
  mock.timers.enable({ apis: ['setInterval'] })
  const sqlite = openSqliteStore(join(t.testdir(), 'x.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
  const lines: (readonly [level: string, fields: unknown, text: string])[] = []
  const metered: (readonly unknown[])[] = []
  const state = {
    probes: 0,
    probe: first ?? (async (): Promise<number | undefined> => undefined),
    failure: undefined as Error | undefined,
  }
  const fail = async () => {
    if (state.failure !== undefined) throw state.failure
    return undefined
  }
  const watched = await watchStore({
    store: {
      ...sqlite,
      probe: () => {
        state.probes += 1
        return state.probe()
      },
      artifacts: (model) => ({ ...sqlite.artifacts(model), find: fail }),
    },
    logger: {
      info: (fields: unknown, text?: string) => lines.push(['info', fields, text ?? '']),
      warn: (fields: unknown, text?: string) => lines.push(['warn', fields, text ?? '']),
    },
    metrics: {
      countStoreError: (reason) => metered.push(['error', reason]),
      setStoreWritable: (isWritable) => metered.push(['writable', isWritable]),
      setClockDifference: (seconds) => metered.push(['clock', seconds]),
      observeStoreOperation: () => undefined,
    },
  })
  t.teardown(async () => {
    watched.close()
    mock.timers.reset()
    await sqlite.close()
  })
  return {
    watched,
    state,
    /** Returns the log lines and metric updates since the last call. */
    take: () => ({ lines: lines.splice(0), metered: metered.splice(0) }),
    tick: async (ms: number) => {
      mock.timers.tick(ms)
      await nextTurn()
    },
    request: async (error: Error) => {
      state.failure = error
      await t.rejects(watched.store.artifacts('Client').find('id'), error)
      await nextTurn()
    },
  }
}

t.test('probes at the start and every 5 seconds, until close()', async (t) => {
  const { watched, state, take, tick } = await startWatching(t)
  const cleared = t.capture(globalThis, 'clearInterval', globalThis.clearInterval)
  t.equal(state.probes, 1)
  t.strictSame(take(), { lines: [], metered: [['writable', true]] })
  t.strictSame(watched.checks(), [{ name: 'store', ok: true }])
  await tick(4_999)
  t.equal(state.probes, 1)
  await tick(1)
  t.equal(state.probes, 2)
  await tick(5_000)
  t.equal(state.probes, 3)
  watched.close()
  t.equal(cleared().length, 1)
  await tick(5_000)
  t.equal(state.probes, 3)
})

t.test(
  'the log has one line for each change of the state, and the readiness check shows the state',
  async (t) => {
    const { watched, state, take, tick } = await startWatching(t)
    take()
    for (const [reason, detail] of [
      ['away', 'the store is unavailable'],
      ['read_only', 'the store is read-only'],
      ['full', 'the store is full'],
      ['locked', 'another process holds the lock of the store'],
      ['damaged', 'the store is damaged'],
      ['failed', 'the store rejects writes'],
    ] as const) {
      state.probe = async () => Promise.reject(failing(reason, new Error('the cause')))
      await tick(10_000)
      t.strictSame(
        take(),
        {
          lines: [
            [
              'warn',
              { event: 'store_degraded', reason, cause: 'the cause' },
              `${detail}: requests that need the store get 503`,
            ],
          ],
          metered: [['writable', false]],
        },
        reason,
      )
      t.strictSame(watched.checks(), [
        { name: 'store', ok: true, degraded: true, detail: `${reason}: ${detail}` },
      ])
      await tick(5_000)
      t.strictSame(take(), { lines: [], metered: [['writable', false]] }, `${reason} again`)
    }
    state.probe = async () => undefined
    await tick(5_000)
    t.strictSame(take(), {
      lines: [['info', { event: 'store_recovered' }, 'the store accepts writes again']],
      metered: [['writable', true]],
    })
    t.strictSame(watched.checks(), [{ name: 'store', ok: true }])
  },
)

t.test('the log line of a failure contains the message of its cause', async (t) => {
  for (const [error, reason, cause] of [
    [failing('away'), 'away', undefined],
    [failing('away', 'text'), 'away', undefined],
    [new Error('unexpected'), 'failed', 'unexpected'],
    ['text', 'failed', undefined],
  ] as const) {
    const { take } = await startWatching(t, async () => Promise.reject(error))
    const [[, fields] = []] = take().lines
    t.strictSame(fields, { event: 'store_degraded', reason, cause })
    mock.timers.reset()
  }
})

t.test('a failed request starts a probe, and the result of the probe sets the state', async (t) => {
  const { state, take, request } = await startWatching(t)
  take()
  await request(failing('away'))
  t.equal(state.probes, 2)
  t.strictSame(take(), {
    lines: [],
    metered: [
      ['error', 'away'],
      ['writable', true],
    ],
  })
  await request(new Error('not of the store'))
  t.equal(state.probes, 2)
  t.strictSame(take(), { lines: [], metered: [] })

  const pending = Promise.withResolvers<undefined>()
  state.probe = () => pending.promise
  await request(failing('locked'))
  await request(failing('locked'))
  t.equal(state.probes, 3, 'one probe at a time')
  pending.reject(failing('locked'))
  await nextTurn()
  t.match(take().lines, [['warn', { event: 'store_degraded', reason: 'locked' }]])
  await request(failing('away'))
  t.equal(state.probes, 3, 'the interval probes a store that failed')
  t.strictSame(take(), { lines: [], metered: [['error', 'away']] })
})

t.test('a request that cannot write changes the state without a probe', async (t) => {
  for (const reason of ['read_only', 'full'] as const) {
    const { state, take, request } = await startWatching(t)
    take()
    await request(failing(reason, new Error('the cause')))
    t.equal(state.probes, 1)
    const { lines, metered } = take()
    t.match(lines, [['warn', { event: 'store_degraded', reason, cause: 'the cause' }]])
    t.strictSame(metered, [
      ['error', reason],
      ['writable', false],
    ])
    mock.timers.reset()
  }
})

t.test('a clock difference above 5 seconds causes a warning and a degraded check', async (t) => {
  const { watched, state, take, tick } = await startWatching(t, async () => 5)
  t.strictSame(take(), {
    lines: [],
    metered: [
      ['clock', 5],
      ['writable', true],
    ],
  })
  t.equal(watched.checks().length, 1)
  const advance = async (seconds: number | undefined) => {
    state.probe = async () => seconds
    await tick(5_000)
    return take().lines
  }
  const differs =
    'the clock of this server differs from the clock of the store: tokens begin and expire at the wrong time; synchronize both clocks'
  t.strictSame(await advance(5.6), [['warn', { event: 'clock_differs', ahead_seconds: 6 }, differs]])
  const check = { name: 'clock', ok: true, degraded: true }
  t.strictSame(watched.checks(), [
    { name: 'store', ok: true },
    { ...check, detail: '6 s ahead of the clock of the store' },
  ])
  t.strictSame(await advance(-7.6), [])
  t.strictSame(watched.checks()[1], { ...check, detail: '8 s behind the clock of the store' })
  t.strictSame(await advance(undefined), [])
  t.equal(watched.checks().length, 2, 'a probe without a clock changes nothing')
  t.strictSame(await advance(-4.4), [
    ['info', { event: 'clock_agrees', ahead_seconds: -4 }, 'the clock matches the clock of the store'],
  ])
  t.equal(watched.checks().length, 1)
  t.strictSame(await advance(-6), [['warn', { event: 'clock_differs', ahead_seconds: -6 }, differs]])
})

t.test('close() ignores the result of a probe in progress', async (t) => {
  for (const settle of ['resolve', 'reject'] as const) {
    const { watched, state, take, tick } = await startWatching(t)
    take()
    const open = Promise.withResolvers<number>()
    state.probe = () => open.promise
    await tick(5_000)
    watched.close()
    if (settle === 'resolve') open.resolve(60)
    else open.reject(failing('away'))
    await nextTurn()
    t.strictSame(take(), { lines: [], metered: [] }, settle)
    mock.timers.reset()
  }
})

t.test('the interval does not keep the process alive', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const sqlite = openSqliteStore(join(t.testdir(), 'x.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
  const opened = timers()
  const ignore = () => undefined
  const watched = await watchStore({
    store: sqlite,
    logger: { info: ignore, warn: ignore },
    metrics: {
      countStoreError: ignore,
      setStoreWritable: ignore,
      setClockDifference: ignore,
      observeStoreOperation: ignore,
    },
  })
  t.equal(timers(), opened)
  watched.close()
  await sqlite.close()
})

const OPERATIONS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  artifacts_find: (store) => store.artifacts('Session').find('id'),
  artifacts_upsert: (store) => store.artifacts('Session').upsert('id', {}, 60),
  artifacts_find_by_uid: (store) => store.artifacts('Session').findByUid('uid'),
  accounts_find_by_id: (store) => store.accounts.findById('id'),
  revocations_last_id: (store) => store.revocations.lastId(),
  exchange: (store) => store.exchange({ model: 'RefreshToken', id: 'id' }, []),
  sweep: (store) => store.sweep(1_000),
}

/** Opens a SQLite store that records its failures and its operations. */
function openObserved(t: Test) {
  const failures: StoreError[] = []
  const operations: (readonly [operation: string, result: string])[] = []
  const open = openSqliteStore(join(t.testdir(), 'store.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
  const store = observeStore(open, {
    onError: (error) => void failures.push(error),
    onOperation: (operation, result, seconds) => {
      t.ok(seconds > 0 && seconds < 60, `${operation}: ${seconds} s`)
      operations.push([operation, result])
    },
  })
  return { store, failures, operations }
}

t.test(
  'observeStore() reports name, result and time of each operation, and rethrows its failure',
  async (t) => {
    const { store, failures, operations } = openObserved(t)
    for (const [name, run] of Object.entries(OPERATIONS)) {
      await run(store)
      t.strictSame(operations.splice(0), [[name, 'ok']])
    }
    t.strictSame(failures, [], 'a store that works')
    await store.close()
    for (const [name, run] of Object.entries(OPERATIONS)) {
      await t.rejects(run(store), { code: 'ERR_STORE_UNAVAILABLE', reason: 'failed' }, name)
      t.match(failures.splice(0), [{ code: 'ERR_STORE_UNAVAILABLE' }], `${name} is reported once`)
      t.strictSame(operations.splice(0), [[name, 'failed']])
    }
  },
)

t.test('observeStore() reports the reason of a failure as the result', async (t) => {
  const { state, watched } = await startWatching(t)
  const results: string[] = []
  const store = observeStore(watched.store, {
    onError: () => undefined,
    onOperation: (_operation, result) => void results.push(result),
  })
  for (const error of [failing('full'), new Error('not of the store')]) {
    state.failure = error
    await t.rejects(store.artifacts('Client').find('id'), error)
  }
  t.strictSame(results, ['full', 'failed'])
})

t.test('observeStore() does not report the write probe', async (t) => {
  const { store, failures, operations } = openObserved(t)
  await store.close()
  await t.rejects(store.probe(), { code: 'ERR_STORE_UNAVAILABLE' })
  t.strictSame([failures, operations], [[], []])
})
