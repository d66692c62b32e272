import { Redis } from 'ioredis'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createRevocationChannels } from '../../../../gateway/tokens/revocation/revocation-channels.ts'
import { isMarkedRevoked } from '../../../../gateway/tokens/revocation/revoked-tokens.ts'
import { type Revocation, writeRevocation } from '../../../../oauth/revocation.ts'
import { createFailureLog } from '../../../../platform/logging/failure-log.ts'
import {
  publisherKey,
  REVOCATION_FIELD,
  REVOCATION_STREAM,
} from '../../../../platform/redis/revocation-keys.ts'
import { revocationName } from '../../../../platform/revocation-name.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'
import { aRevocation } from '../../../fixtures/a-revocation.ts'
import { startRedis } from '../../../fixtures/start-redis.ts'
import { startRevocationSource } from '../../../fixtures/start-revocation-source.ts'
import { until } from '../../../fixtures/until.ts'

const ISSUER = 'https://api.test'

async function listen(
  t: Test,
  options: {
    readonly stream?: string
    readonly redis?: string
  },
) {
  const heard: (Revocation & { readonly from: string | undefined })[] = []
  const seen = { gaps: 0, calls: 0 }
  const clock = { aheadMs: 0 }
  const { stream, redis } = options
  const channels = createRevocationChannels({
    issuers: [
      {
        issuer: ISSUER,
        stream:
          stream === undefined
            ? undefined
            : { url: stream, clientId: 'gateway', clientSecret: 'x', ca: undefined },
      },
    ],
    redis: redis === undefined ? undefined : { url: redis },
    logger: pino({ enabled: false }),
    failures: createFailureLog(pino({ enabled: false })),
    random: () => 0,
    tickMs: () => performance.now() + clock.aheadMs,
    nowSeconds: () => Date.now() / 1_000,
  })
  t.teardown(() => channels.close())
  await channels.open({
    onRevoked(revocations, from) {
      seen.calls += 1
      heard.push(...revocations.map((one) => ({ ...one, from })))
    },
    onGap() {
      seen.gaps += 1
    },
  })
  return { channels, heard, seen, clock }
}

async function aRedis(t: Test) {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.stop()
  })
  return { url: server.url, redis, server }
}

t.test('an issuer is connected through Redis while its publisher key exists', async (t) => {
  const { url, redis } = await aRedis(t)
  const { channels, heard } = await listen(t, { redis: url })
  const write = (revocation: Revocation) =>
    redis.xadd(REVOCATION_STREAM, '*', REVOCATION_FIELD, writeRevocation(revocation))
  await write(aRevocation({ issuer: ISSUER, grant: 'a' }))
  await until('the entries are received', async () => heard.length === 1)
  await until('an entry without a publisher key: not configured', async () => !channels.isConfigured(ISSUER))
  t.equal(channels.isConnected(ISSUER), false)
  await redis.set(publisherKey(ISSUER), '1')
  await until('the channel is connected', async () => channels.isConnected(ISSUER))
  await redis.del(publisherKey(ISSUER))
  await until('disconnected', async () => !channels.isConnected(ISSUER))
  t.equal(channels.isConfigured(ISSUER), true, 'the issuer has published before')
})

t.test('until Redis has responded, every issuer counts as configured but not connected', async (t) => {
  const { url, redis, server } = await aRedis(t)
  await redis.set(publisherKey(ISSUER), '1')
  server.freeze()
  const early = await listen(t, { redis: url })
  t.equal(early.channels.isConfigured(ISSUER), true)
  t.equal(early.channels.isConnected(ISSUER), false)
  t.equal(early.channels.marks(ISSUER), false)
  server.thaw()
  await until('the channel is connected', async () => early.channels.isConnected(ISSUER))

  await redis.del(publisherKey(ISSUER))
  const late = await listen(t, { redis: url })
  await until('Redis has responded', async () => !late.channels.isConfigured(ISSUER))
  t.equal(late.channels.isConnected(ISSUER), false)

  const without = await listen(t, {})
  t.equal(
    without.channels.isConfigured(ISSUER),
    false,
    'without Redis and stream no revocations are configured',
  )
})

t.test('after a pause of the process a channel is disconnected until it receives data', async (t) => {
  const source = await startRevocationSource(t)
  const stream = await listen(t, { stream: source.url })
  await until('the channel is connected', async () => stream.channels.isConnected(ISSUER))
  stream.clock.aheadMs = 16_000
  t.equal(stream.channels.isConnected(ISSUER), false, 'no comment for three times the interval')
  t.equal(stream.channels.isConfigured(ISSUER), true)
  source.send('other', '{}')
  await until('the channel is connected again', async () => stream.channels.isConnected(ISSUER))

  const { url, redis } = await aRedis(t)
  await redis.set(publisherKey(ISSUER), '1')
  const there = await listen(t, { redis: url })
  await until('the channel is connected', async () => there.channels.isConnected(ISSUER))
  there.clock.aheadMs = 4_000
  t.equal(there.channels.isConnected(ISSUER), false)
  await until('the channel is connected again', async () => there.channels.isConnected(ISSUER))
})

t.test('an unreadable entry, or an entry without an issuer, is a revocation gap', async (t) => {
  const { url, redis } = await aRedis(t)
  const { heard, seen } = await listen(t, { redis: url })
  await until('the first gap is reported', async () => seen.gaps === 1)
  await redis.xadd(REVOCATION_STREAM, '*', REVOCATION_FIELD, '{')
  await until('the gap is reported', async () => seen.gaps === 2)
  await redis.xadd(REVOCATION_STREAM, '*', REVOCATION_FIELD, '{"grant":"g"}')
  await until('the gap is reported', async () => seen.gaps === 3)
  t.same(heard, [])
})

t.test(
  'an event of a revocation stream is stored once in Redis, for gateways that start later',
  async (t) => {
    const { url, redis } = await aRedis(t)
    const source = await startRevocationSource(t)
    const gateways = await Promise.all([1, 2, 3].map(() => listen(t, { stream: source.url, redis: url })))
    for (const { channels } of gateways)
      await until('the channel is connected', async () => channels.isConnected(ISSUER))
    const subject = revocationName(ISSUER, 'user-1')
    source.send('revoked', writeRevocation(aRevocation({ issuer: 'https://other.test', token: 'id-1' })))
    source.send('revoked', writeRevocation(aRevocation({ grant: 'grant-1', subject, atSeconds: 100 })))
    await until('the entries are written', async () => (await redis.xlen(REVOCATION_STREAM)) === 3)

    const late = await listen(t, { redis: url })
    await until('the entries are received', async () => late.heard.length === 3)
    t.match(late.heard, [
      { issuer: ISSUER, token: 'id-1' },
      { issuer: ISSUER, grant: 'grant-1', token: undefined },
      { issuer: ISSUER, subject, atSeconds: 100 },
    ])
    const marked = (change: Parameters<typeof aCaller>[0]) =>
      isMarkedRevoked(redis, aCaller({ grant: undefined, subject: undefined, ...change }))
    t.equal(await marked({}), false)
    t.equal(await marked({ tokenId: 'id-1' }), true)
    t.equal(await marked({ tokenId: 'id-2' }), false)
    t.equal(await marked({ grant: 'grant-1' }), true)
    t.equal(await marked({ subject: 'user-1' }), true)
    t.equal(await marked({ subject: 'user-2' }), false)
    t.equal(await marked({ subject: 'user-1', issuer: 'https://other.test' }), false)
    t.equal(await marked({ subject: 'user-1', issuedAtSeconds: Date.now() / 1_000 + 60 }), false)
    for (const { heard } of gateways)
      t.ok(heard.some(({ from, token }) => from === ISSUER && token === 'id-1'))
    t.equal(await redis.xlen(REVOCATION_STREAM), 3, 'by one of the three')
  },
)

t.test('a stream with `reset`, an unreadable event or no resumption causes a revocation gap', async (t) => {
  const source = await startRevocationSource(t)
  const { channels, seen } = await listen(t, { stream: source.url })
  await until('the channel is connected', async () => channels.isConnected(ISSUER))
  t.equal(seen.gaps, 1)
  source.send('reset', '{}')
  await until('the gap is reported', async () => seen.gaps === 2)
  for (const junk of ['', '{', '{"grant":7}', 'x'.repeat(10_000)]) source.send('revoked', junk)
  await until('the gap is reported', async () => seen.gaps === 6)
  source.send('something-else', 'junk')
  source.send('revoked', '{"grant":"g"}', 'id-7')
  source.drop()
  await until('again', async () => source.lastEventIds.length === 2)
  t.same(source.lastEventIds, [undefined, 'id-7'])
  await until('the gap is reported', async () => seen.gaps === 7, 10_000)
  source.resume = true
  source.drop()
  await until('again', async () => source.lastEventIds.length === 3)
  await until('the channel is connected', async () => channels.isConnected(ISSUER))
  t.equal(seen.gaps, 7)
})

t.test(
  'completeUntilMs() returns the last time at which the gateway had received all revocations',
  async (t) => {
    const source = await startRevocationSource(t)
    source.replays = true
    const { channels, seen } = await listen(t, { stream: source.url })
    const nowSeconds = Date.now() / 1_000
    const old = () => channels.completeUntilMs(ISSUER, nowSeconds - 10)
    await until('the replay begins', async () => seen.gaps === 1)
    t.equal(channels.isConnected(ISSUER), false, 'later revocations follow the replay')
    t.equal(old(), Number.NEGATIVE_INFINITY, 'the replay is not complete')
    t.equal(channels.completeUntilMs(ISSUER, undefined), Number.NEGATIVE_INFINITY)
    t.equal(channels.completeUntilMs(ISSUER, nowSeconds + 120), Number.NEGATIVE_INFINITY, 'a later token')
    t.equal(channels.completeUntilMs('https://other.test', nowSeconds + 120), Number.NEGATIVE_INFINITY)

    source.send('revoked', writeRevocation(aRevocation({ grant: 'a' })), '7')
    source.send('complete', '{}')
    await until('complete', async () => old() > 0)
    t.equal(channels.isConnected(ISSUER), true)
    t.ok(channels.completeUntilMs(ISSUER, undefined) > 0)
    const before = old()
    source.drop()
    await until('lost', async () => !channels.isConnected(ISSUER))
    source.resume = true
    source.replays = false
    await until('resumed', async () => channels.isConnected(ISSUER))
    t.equal(source.lastEventIds.at(-1), '7')
    t.ok(old() >= before)

    const known = old()
    source.send('reset', '{}')
    await until('reset', async () => seen.gaps === 2)
    t.ok(old() >= known)
    const kept = old()
    source.send('revoked', writeRevocation(aRevocation({ grant: 'b' })))
    source.send('unknown', '{}')
    t.equal(old(), kept, 'later events do not fill the gap')
    source.resume = false
    source.replays = true
    source.drop()
    await until('the next replay begins', async () => seen.gaps === 3)
    t.equal(source.lastEventIds.at(-1), undefined, 'after a reset, the gateway asks for a complete replay')
    t.equal(old(), kept)
    source.drop()
    await until('the replay begins again', async () => seen.gaps === 4)
    t.equal(source.lastEventIds.at(-1), undefined, 'an interrupted replay starts again')
    source.send('complete', '{}')
    await until('complete', async () => old() > kept)
  },
)

t.test('the revocations are complete at the end of a replay of missed revocations', async (t) => {
  const source = await startRevocationSource(t)
  source.replays = true
  const { channels, heard } = await listen(t, { stream: source.url })
  const nowSeconds = Date.now() / 1_000
  await until('asked', async () => source.lastEventIds.length === 1)
  source.send('complete', '{}')
  source.send('revoked', writeRevocation(aRevocation({ grant: 'a' })), '7')
  await until('connected', async () => channels.isConnected(ISSUER) && heard.length === 1)
  Object.assign(source, { resume: true, replays: false, replayed: false })
  source.drop()
  await until('lost', async () => !channels.isConnected(ISSUER))
  const known = channels.completeUntilMs(ISSUER, nowSeconds)
  t.ok(known > 0)
  for (const [id, from] of [
    ['8', '7'],
    ['9', '8'],
  ] as const) {
    const count = heard.length
    await until('resumed', async () => source.lastEventIds.at(-1) === from)
    source.send('revoked', writeRevocation(aRevocation({ grant: id })), id)
    await until('one of the missed revocations', async () => heard.length > count)
    source.send('other', '{}')
    source.send('revoked', writeRevocation(aRevocation({ grant: id })), id)
    await until('a later chunk', async () => heard.length > count + 1)
    t.equal(channels.isConnected(ISSUER), false)
    t.equal(channels.completeUntilMs(ISSUER, nowSeconds), known)
    t.equal(channels.completeUntilMs(ISSUER, nowSeconds + 120), known)
    if (id === '8') source.drop()
  }
  source.send('replayed', '{}')
  await until('open', async () => channels.isConnected(ISSUER))
  t.ok(channels.completeUntilMs(ISSUER, nowSeconds) > known)
})

t.test('the start of a gateway waits for the replay of earlier revocations', async (t) => {
  const source = await startRevocationSource(t)
  source.replays = true
  const opened = listen(t, { stream: source.url })
  await until('asked', async () => source.lastEventIds.length === 1)
  source.send('revoked', writeRevocation(aRevocation({ grant: 'early' })))
  source.send('complete', '{}')
  const { heard } = await opened
  t.match(heard, [{ grant: 'early', from: ISSUER }])
})

t.test('completeUntilMs() counts Redis while the issuer publishes there', async (t) => {
  const { url, redis } = await aRedis(t)
  await redis.set(publisherKey(ISSUER), '1')
  const { channels } = await listen(t, { redis: url })
  const known = channels.completeUntilMs(ISSUER, 1)
  t.ok(known > 0)
  await redis.del(publisherKey(ISSUER))
  await until('not published', async () => !channels.isConnected(ISSUER))
  const last = channels.completeUntilMs(ISSUER, 1)
  t.ok(last >= known, 'the time stays')
})

t.test('an unreadable revocation is a gap that a replay does not fill', async (t) => {
  const source = await startRevocationSource(t)
  source.replays = true
  const { channels, seen } = await listen(t, { stream: source.url })
  const nowSeconds = Date.now() / 1_000
  await until('the replay begins', async () => seen.gaps === 1)
  source.send('revoked', '{')
  source.send('complete', '{}')
  source.send('revoked', writeRevocation(aRevocation({ grant: 'a' })), '7')
  await until('the gap is reported', async () => seen.gaps === 2)
  source.drop()
  source.replays = false
  source.resume = true
  await until('the stream continues after the replay', async () => source.lastEventIds.at(-1) === '7')
  t.equal(channels.completeUntilMs(ISSUER, nowSeconds), Number.NEGATIVE_INFINITY)
  await until('connected', async () => channels.completeUntilMs(ISSUER, nowSeconds + 120) > 0)
  t.equal(channels.completeUntilMs(ISSUER, nowSeconds), Number.NEGATIVE_INFINITY)

  source.replays = true
  source.resume = false
  source.drop()
  await until('the replay begins', async () => seen.gaps === 3)
  source.send('complete', '{}')
  await until('a readable replay', async () => channels.completeUntilMs(ISSUER, nowSeconds) > 0)
})

t.test('an unreadable entry in Redis is a gap for the tokens from before this entry', async (t) => {
  const { url, redis } = await aRedis(t)
  await redis.set(publisherKey(ISSUER), '1')
  const { channels, seen } = await listen(t, { redis: url })
  const nowSeconds = Date.now() / 1_000
  const known = channels.completeUntilMs(ISSUER, nowSeconds)
  t.ok(known > 0)
  await redis.xadd(REVOCATION_STREAM, '*', REVOCATION_FIELD, '{')
  await until('the gap is reported', async () => seen.gaps === 2)
  const later = await until('Redis responds again', async () => {
    const completeMs = channels.completeUntilMs(ISSUER, nowSeconds + 120)
    return completeMs > channels.completeUntilMs(ISSUER, nowSeconds) && completeMs
  })
  t.ok(channels.completeUntilMs(ISSUER, nowSeconds) < later)
  t.ok(channels.completeUntilMs(ISSUER, undefined) < later)
})

t.test('revocations that arrive together are applied together', async (t) => {
  const source = await startRevocationSource(t)
  const { channels, heard, seen } = await listen(t, { stream: source.url })
  await until('connected', async () => channels.isConnected(ISSUER))
  const events = Array.from({ length: 100 }, (_, count) =>
    writeRevocation(aRevocation({ grant: `${count}` })),
  )
  source.write(events.map((data) => `event: revoked\ndata: ${data}\n\n`).join(''))
  await until('all arrive', async () => heard.length === 100)
  t.ok(seen.calls < 10, `${seen.calls} calls`)
})
