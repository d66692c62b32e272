import t, { type Test } from 'tap'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { PATH_SPELLINGS } from '../fixtures/path-spellings.ts'
import {
  type Case,
  everyHeader,
  everySpelling,
  isProtected,
  isReadAsProtected,
  protectedPolicy,
  ROUTES,
  sendAll,
  TOKEN,
} from '../fixtures/protected-paths.ts'
import { type StrictUpstream, startStrictUpstream } from '../fixtures/strict-upstream.ts'

t.test(
  `${PATH_SPELLINGS.length} spellings of ${ROUTES.length} protected paths give no access without a token`,
  async (t) => {
    t.ok(PATH_SPELLINGS.length >= 60)
    const { under, upstream } = await start(t, '/pub/**')
    const cases = [...everySpelling(), ...everyHeader()]
    const statuses = await sendAll(under.gateway.url, cases)
    const { leaked, passed } = await judge(t, { under, upstream, cases, statuses }, isProtected)
    t.same(leaked, [], 'no protected path reached the upstream without a token')
    const authenticated = passed.filter((one) => one.hasToken).length
    t.ok(authenticated > ROUTES.length * 20, 'with a token, many spellings match the path')
    t.comment(
      `${cases.length} requests, ${passed.length} forwarded, ${authenticated} of them with a token, ${leaked.length} leaked`,
    )
  },
)

// In the worst case, a route opens all other paths. The gateway then forwards each spelling that does not match the
// protected route. By definition, `;` is part of a segment, and paths are case-sensitive.
t.test('with an open route for all paths, no spelling gives access to a protected path', async (t) => {
  const { under, upstream } = await start(t, '/**')
  const cases = everySpelling().filter((one) => !one.hasToken)
  const statuses = await sendAll(under.gateway.url, cases)
  const { leaked, passed } = await judge(t, { under, upstream, cases, statuses }, isReadAsProtected)
  t.same(leaked, [], 'no protected path reached the upstream without a token')
  t.comment(`${cases.length} requests, ${passed.length} forwarded as other paths, ${leaked.length} leaked`)
})

async function start(t: Test, open: string): Promise<{ under: GatewayUnderTest; upstream: StrictUpstream }> {
  const upstream = await startStrictUpstream()
  const under = await startGatewayUnderTest(t, {
    policy: protectedPolicy(open),
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [upstream.url] } : one)),
    }),
  })
  t.teardown(() => upstream.close())
  under.issuer.store(TOKEN, { scope: 'orders:read' })
  return { under, upstream }
}

async function judge(
  t: Test,
  run: {
    under: GatewayUnderTest
    upstream: StrictUpstream
    cases: readonly Case[]
    statuses: readonly (readonly number[])[]
  },
  isSecret: (path: string, method: string) => boolean,
): Promise<{ leaked: readonly string[]; passed: readonly Case[] }> {
  const { under, upstream, cases, statuses } = run
  await under.gateway.close()
  const logged = new Map(under.log().map((line) => [line['request_id'], line['url.path']]))
  const leaked: string[] = []
  const differs: string[] = []
  const passed: Case[] = []
  const seen = new Set<number>()
  for (const { target, headers } of upstream.requests) {
    const value = (name: string) => headers.find(([one]) => one === name)?.[1]
    const index = Number(value('x-case'))
    const one = cases[index] as Case
    const path = target.replace(/\?.*$/, '')
    if (seen.has(index)) differs.push(`forwarded twice: ${one.method} ${one.target}`)
    seen.add(index)
    passed.push(one)
    if (logged.get(value('x-request-id')) !== path)
      differs.push(`matched ${logged.get(value('x-request-id'))}, forwarded ${path}`)
    if (!one.hasToken && isSecret(path, one.method)) leaked.push(`${one.method} ${one.target} as ${target}`)
    if (!one.hasToken && headers.some(([name]) => /^x[-_.]auth[-_.]/.test(name)))
      leaked.push(`an identity with ${one.headers}`)
  }
  const odd = statuses.flatMap((list, index) => {
    const [status = 0] = list
    const good = list.length === 1 && (status === 200) === seen.has(index) && status < 500
    return good || (status === 204 && cases[index]?.method === 'OPTIONS')
      ? []
      : [`${cases[index]?.method} ${cases[index]?.target}: ${list}`]
  })
  t.same(odd, [], 'each request got one response: 200 if it was forwarded, below 500 if not')
  t.same(differs, [], 'the forwarded path equals the matched path, byte for byte')
  t.same(upstream.problems, [], 'every byte that was forwarded was well-formed')
  return { leaked, passed }
}
