import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { ConsoleState } from '../../../gateway/console/console-source.ts'
import { createHistory } from '../../../gateway/console/history.ts'
import { type Parts, partCards, toParts } from '../../../gateway/console/overview-parts.ts'
import { html } from '../../../platform/pages/html.ts'
import { pushing, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

const POLICY =
  'apiVersion: scopegate/v1\nkind: Policy\nname: shop\nupstream: api\nroutes:\n  - name: all\n    match: { methods: [GET], path: "/api/shop/**" }\n    scopes: { all: [courses:read] }\n    anonymous: challenge\n    rateLimit: { requests: 100, per: 1m, by: client }\n'

type Overview = {
  readonly redis: { readonly problems: readonly string[]; readonly fallbacksOfLastMinute: object } | null
  readonly revocationStreams: {
    readonly problems: readonly string[]
    readonly lastReceivedMs: number | null
  } | null
  readonly policies: {
    readonly sources: readonly { readonly state: string }[]
    readonly reloads: { readonly success: number }
    readonly lastReloadMs: number | null
  }
  readonly series: readonly Readonly<Record<string, number>>[]
}

t.test(
  'the overview shows failures and recoveries of Redis, a revocation stream and a policy source',
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'scopegate-parts-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const write = (text: string) => writeFileSync(join(folder, 'shop', 'shop.policy.yaml'), text)
    mkdirSync(join(folder, 'shop'))
    write(POLICY)
    let redis = await startRedis({ folder })
    t.teardown(() => redis.stop())
    const { gateway, issuer } = await startGatewayUnderTest(t, {
      change: (config) => ({
        ...config,
        redis: { url: redis.url },
        issuers: config.issuers.map(pushing),
        policiesDir: '',
        onInvalidPolicy: 'keep',
        policySources: [
          {
            name: 'shop',
            folder: join(folder, 'shop'),
            owner: 'team-shop',
            permissions: {
              pathPrefixes: ['/api/shop'],
              upstreams: ['api'],
              addresses: [],
              scopes: ['courses:*'],
              anonymous: false,
              forwardCredentials: false,
            },
          },
        ],
      }),
    })
    const { url, managementUrl } = gateway
    const overview = async () => (await send(`${managementUrl}/?format=json`)).json as Overview
    const page = async () => (await send(`${managementUrl}/`)).text
    const charted = ({ series }: Overview, value: string) => series.some((point) => (point[value] ?? 0) > 0)

    await until('all parts work', async () => {
      const { redis, revocationStreams } = await overview()
      return redis?.problems.length === 0 && revocationStreams?.problems.length === 0
    })
    const before = await overview()
    t.match(before, { policies: { sources: [{ name: 'shop', state: 'valid' }], lastReloadMs: null } })
    const healthy = await page()
    t.match(
      healthy,
      /<h3>Operations without Redis<\/h3>.*<span class="state" data-state="ok">connected<\/span>/s,
    )
    t.match(healthy, '1 of 1 connected')
    t.match(healthy, '1 of 1 valid')

    issuer.store('revoked', { grant: 'g1' })
    issuer.revoke('revoked')
    await until('the revocation is received', async () => {
      const { revocationStreams } = await overview()
      return revocationStreams?.lastReceivedMs !== null
    })
    await redis.stop()
    issuer.rejectSubscribers(true)
    issuer.dropSubscribers()
    write(POLICY.replace('upstream: api', 'upstrem: api'))
    await gateway.reload('endpoint')
    await send(`${url}/api/shop/1`, { token: issuer.store('without-redis', { scope: 'courses:read' }) })
    const failed = await until('all parts fail', async () => {
      const found = await overview()
      const isFailed = [found.redis, found.revocationStreams].every((part) => part?.problems.length === 1)
      return isFailed && charted(found, 'redisFallbacksPerSecond') ? found : undefined
    })
    t.match(failed, {
      redis: {
        problems: [/^no connection to Redis/],
        fallbacksOfLastMinute: { rateLimits: 1, tokenLookups: 1, proofs: 0 },
      },
      revocationStreams: { problems: [/^not connected/], lastReceivedMs: Number },
      policies: { areActive: true, sources: [{ state: 'kept' }], reloads: { success: 1, failure: 0 } },
    })
    t.ok(charted(failed, 'failingStreams'))
    t.ok(charted(failed, 'failingPolicies'))
    const shown = await page()
    t.match(shown, /data-state="notice">no connection to Redis/)
    t.match(shown, '0 of 1 connected')
    t.match(shown, /0 of 1 valid.*data-state="notice">invalid: shop</s)

    redis = await startRedis({ folder, port: redis.port })
    issuer.rejectSubscribers(false)
    write(`${POLICY}# corrected\n`)
    await gateway.reload('endpoint')
    const recovered = await until('all parts work again', async () => {
      const found = await overview()
      return [found.redis, found.revocationStreams].every((part) => part?.problems.length === 0)
        ? found
        : undefined
    })
    t.match(recovered, {
      policies: { sources: [{ state: 'valid' }], reloads: { success: 2 }, lastReloadMs: Number },
    })
    t.ok(charted(recovered, 'failingStreams'), 'the chart keeps the failure')
  },
)

function cardsOf(parts: Parts, revocations: number): string {
  return partCards(parts, {
    nowMs: 2_000,
    lastMinute: { revocations },
    chart: () => html``,
    card: (title, number, _picture, note) => html`[${title}: ${number}, ${note}]`,
  }).toString()
}

t.test('the card of revocation streams has the singular for one revocation', async (t) => {
  const history = createHistory(0)
  history.add([], [{ kind: 'revocation_stream', name: 'revocations', ok: true }], 1_000)
  const parts = toParts(history, { states: [], failure: undefined } as unknown as ConsoleState['policies'])
  for (const [count, text] of [
    [0, '; 0 revocations received,'],
    [1, '; 1 revocation received,'],
    [2, '; 2 revocations received,'],
  ] as const)
    t.match(cardsOf(parts, count), text)
})

t.test('the cards name the failing Redis and the first invalid policy sources', async (t) => {
  const history = createHistory(0)
  history.add(
    [],
    [
      { kind: 'redis', name: 'redis', ok: true },
      { kind: 'redis', name: 'revocation redis', ok: true, degraded: true, detail: 'no connection' },
    ],
    1_000,
  )
  const states = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, state: 'unavailable' }))
  const parts = toParts(history, { states, failure: undefined } as unknown as ConsoleState['policies'])
  t.match(parts.redis, { checks: 2, problems: ['no connection'] })
  const markup = cardsOf(parts, 0)
  t.match(markup, '[Operations without Redis: 0, <span class="state" data-state="notice">no connection<')
  t.match(
    markup,
    '[Policy sources: 0 of 5 valid, <span class="state" data-state="wrong">invalid: a, b, c and 2 more<',
  )
})
