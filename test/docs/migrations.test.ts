import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type JwtIssuer, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { type FollowedGuide, followGuide } from '../fixtures/follow-guide.ts'
import { type RecordingUpstream, startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { documentedBlock, documentedBlocks, type FencedBlock } from '../fixtures/repository-texts.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

// These tests follow the guides for a migration from another product, with a local issuer and local services.
const API = 'https://api.example.com'

type Migrated = FollowedGuide & {
  readonly issuer: JwtIssuer
  readonly orders: RecordingUpstream
  readonly invoices: RecordingUpstream
  readonly other: RecordingUpstream
  /** Sends a request, with a token if there are claims. Returns the status. */
  ask(path: string, claims?: object): Promise<number>
}

async function follow(t: Test, blocks: readonly FencedBlock[], others: readonly string[]): Promise<Migrated> {
  const issuer = await startJwtIssuer({ metadata: 'openid' })
  const [orders, invoices, other] = [
    await startRecordingUpstream(),
    await startRecordingUpstream(),
    await startRecordingUpstream(),
  ]
  t.teardown(() => Promise.all([issuer, orders, invoices, other].map((server) => server.close())))
  const guide = await followGuide(t, blocks, {
    others,
    replace: {
      'https://login.example.com': issuer.issuer,
      'http://127.0.0.1:5001': orders.url,
      'http://127.0.0.1:5002': invoices.url,
      'http://127.0.0.1:7000': other.url,
    },
  })
  return Object.assign(guide, {
    issuer,
    orders,
    invoices,
    other,
    async ask(path: string, claims?: object) {
      const token = claims === undefined ? undefined : issuer.sign({ aud: API, ...claims }, { typ: 'JWT' })
      return (await send(`${guide.url}${path}`, { token })).status
    },
  })
}

/** The blocks of each guide, its block with the configuration of the product, and requests with the expected status. */
const MIGRATIONS: readonly (readonly [
  product: string,
  blocks: readonly FencedBlock[],
  configuration: string,
  requests: readonly (readonly [path: string, claims: object | undefined, status: number])[],
])[] = [
  [
    'oauth2-proxy',
    documentedBlocks('docs/migrate-from-oauth2-proxy.md'),
    documentedBlock('docs/migrate-from-oauth2-proxy.md', 'skip_jwt_bearer_tokens'),
    [
      ['/orders/health', undefined, 200],
      ['/orders/7', undefined, 401],
      ['/orders/7', { groups: ['staff', 'other'] }, 200],
      ['/invoices/7', { groups: ['staff'] }, 200],
      ['/orders/7', { groups: ['other'] }, 403],
      ['/orders/7', {}, 403],
      ['/orders/7', { groups: ['staff'], aud: 'api' }, 401],
    ],
  ],
  [
    'oathkeeper',
    documentedBlocks('docs/migrate-from-oathkeeper.md'),
    documentedBlock('docs/migrate-from-oathkeeper.md', 'target_audience'),
    [
      ['/orders/7', undefined, 401],
      ['/orders/7', { scope: 'orders:read' }, 200],
      ['/orders/7', { scope: 'invoices:read' }, 403],
      ['/orders/7/items', { scope: 'orders:read' }, 404],
      ['/invoices/7', undefined, 200],
      ['/invoices/7', { scope: 'invoices:read' }, 200],
      ['/invoices/7', { scope: 'orders:read' }, 403],
      ['/invoices/7', { scope: 'invoices:read', aud: 'api' }, 401],
    ],
  ],
  [
    'kong-openid-connect',
    documentedBlocks('docs/migrate-from-kong-openid-connect.md'),
    documentedBlock('docs/migrate-from-kong-openid-connect.md', 'scopes_required'),
    [
      ['/orders/7', undefined, 401],
      ['/orders/7', { scope: 'orders:read' }, 200],
      ['/orders/7', { scope: 'orders:write' }, 200],
      ['/orders/7', { scope: 'invoices:read' }, 403],
      ['/orders-old/7', { scope: 'orders:read' }, 404],
      ['/invoices/7', { scope: 'invoices:read' }, 403],
      ['/invoices/7', { scope: 'invoices:read orders:read' }, 200],
    ],
  ],
  [
    'krakend',
    documentedBlocks('docs/migrate-from-krakend.md'),
    documentedBlock('docs/migrate-from-krakend.md', 'scopes_matcher'),
    [
      ['/orders/7', undefined, 401],
      ['/orders/7', { scope: 'orders:read' }, 403],
      ['/orders/7', { scope: 'orders:read orders:write' }, 200],
      ['/v2/invoices/7', { realm_access: { roles: ['accountant'] } }, 200],
      ['/v2/invoices/7', { realm_access: { roles: ['clerk'] } }, 403],
      ['/invoices/7', { realm_access: { roles: ['accountant'] } }, 404],
    ],
  ],
]

for (const [product, blocks, configuration, requests] of MIGRATIONS)
  t.test(`migrate-from-${product}.md keeps the decisions of its example`, async (t) => {
    const { ask, orders, invoices } = await follow(t, blocks, [configuration])
    for (const [path, claims, status] of requests)
      t.equal(await ask(path, claims), status, `${path} ${JSON.stringify(claims)}`)
    t.equal(
      orders.requests.length + invoices.requests.length,
      requests.filter(([, , status]) => status === 200).length,
    )
    for (const { target } of invoices.requests) t.equal(target, '/invoices/7')
    if (product === 'oathkeeper') t.equal(orders.seen('x-auth-assertion').length, 1)
  })

t.test('cut-over-from-another-gateway.md reports, then enforces, then replaces the gateway', async (t) => {
  const service = documentedBlock('docs/cut-over-from-another-gateway.md', '127.0.0.1:5001')
  const line = documentedBlock('docs/cut-over-from-another-gateway.md', 'auth.would')
  const blocks = documentedBlocks('docs/cut-over-from-another-gateway.md')
  const guide = await follow(t, blocks, [service, line])
  const { ask, issuer, other, orders, folder } = guide
  t.equal(other.requests.length, 1, 'the request of the guide without a token')
  const wrongScope = { scope: 'other' }
  t.equal(await ask('/orders/7', wrongScope), 200)
  t.match(other.seen('authorization'), [/^Bearer ey/])
  t.equal(await ask('/orders/7', { aud: 'api' }), 401, 'an invalid token')
  t.equal(await ask('/other'), 404, 'a path without a route')
  t.equal(other.requests.length, 2)
  const reported = () =>
    guide
      .log()
      .split('\n')
      .flatMap((text) => (text.includes('"auth.would"') ? [JSON.parse(text)] : []))
  await until('the gateway logs both denials', async () => reported().length === 2)
  t.match(reported(), [JSON.parse(line), { 'auth.would': 'deny' }])

  const policy = join(folder, 'policies/orders.policy.yaml')
  const text = readFileSync(policy, 'utf8')
  writeFileSync(policy, text.replace(/^ {2}(?:enforce: report|upstreamAuth: forward) .*\n/gm, ''))
  await guide.restartWith(service, 'config/upstreams.yaml')
  const enforced = async (claims: object) =>
    (await send(`${guide.url}/orders/7`, { token: issuer.sign({ aud: API, ...claims }) })).status
  t.equal(await enforced(wrongScope), 403)
  t.equal(await enforced({ scope: 'orders:read' }), 200)
  t.same([other.requests.length, orders.requests.length], [2, 1])
  t.same(orders.seen('authorization'), [])
})
