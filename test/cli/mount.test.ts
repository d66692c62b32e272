import t, { type Test } from 'tap'
import { main } from '../../cli/main.ts'
import { aPolicyFolder } from '../fixtures/a-policy-folder.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

const HEAD = `apiVersion: scopegate/v1
kind: Policy
name: trains
owner: team-trains
upstream: learning-platform
`
const MOUNTED = `${HEAD}defaults: { anonymous: challenge, mount: /trains }
routes:
  - name: list-stations
    match: { methods: [GET], path: /stations }
    scopes: { all: [courses:read] }
  - name: read-station
    match: { methods: [GET], path: "/stations/{id}" }
    scopes: { all: [courses:read] }
tests:
  - it: takes the path that clients send and expects the path that the upstream gets
    request: { method: GET, path: /trains/stations/7 }
    token: { scope: courses:read }
    expect: { decision: allow, route: read-station, upstreamPath: /stations/7 }
  - it: finds no route without the mount
    request: { method: GET, path: /stations/7 }
    token: { scope: courses:read }
    expect: { decision: deny, status: 404 }
`
/** The same routes in a policy without a mount. Each route has a rewrite instead. */
const REWRITTEN = `${HEAD}defaults: { anonymous: challenge }
routes:
  - name: list-stations
    match: { methods: [GET], path: /trains/stations }
    scopes: { all: [courses:read] }
    rewrite: { path: /stations }
  - name: read-station
    match: { methods: [GET], path: "/trains/stations/{id}" }
    scopes: { all: [courses:read] }
    rewrite: { path: "/stations/{id}" }
`

async function run(t: Test, policy: string, ...args: readonly string[]) {
  const folder = aPolicyFolder(t, { 'trains.policy.yaml': policy })
  const terminal = aTerminal({ folder })
  return { code: await main(args, terminal), ...terminal.said }
}

async function diff(t: Test, old: string, now: string) {
  const folder = t.testdir({ old: { 'trains.policy.yaml': old }, now: { 'trains.policy.yaml': now } })
  const terminal = aTerminal({ folder })
  return { code: await main(['diff', 'old', 'now'], terminal), ...terminal.said }
}

t.test('check and test accept a mounted policy, and tests use the paths for clients', async (t) => {
  t.match(await run(t, MOUNTED, 'check', '--strict'), { code: 0, out: /2 tests passed\n$/ })
  t.match(await run(t, MOUNTED, 'fmt', '--check'), { code: 1 })
})

t.test('explain shows the mount and the path that the upstream gets', async (t) => {
  const { code, out } = await run(
    t,
    MOUNTED,
    'explain',
    'GET',
    '/trains/stations/7',
    '--scope',
    'courses:read',
  )
  t.equal(code, 0)
  t.match(out, /^mount +\/trains$/m)
  t.match(out, /^upstream +learning-platform {2}\/stations\/7$/m)
  const json = await run(
    t,
    MOUNTED,
    'explain',
    'GET',
    '/trains/stations/7',
    '--scope',
    'courses:read',
    '--json',
  )
  t.match(JSON.parse(json.out), { route: { mount: '/trains' }, upstream: { path: '/stations/7' } })
})

t.test('routes shows the path for clients, and the upstream path if it is different', async (t) => {
  const { out } = await run(t, MOUNTED, 'routes')
  t.match(
    out,
    /^GET +\/trains\/stations +all of: courses:read +challenge +on +learning-platform \/stations +team-trains /m,
  )
  t.match(out, /^GET +\/trains\/stations\/\{id\} .* learning-platform \/stations\/\{id\} /m)
  t.match(JSON.parse((await run(t, MOUNTED, 'routes', '--json')).out), {
    routes: [{ path: '/trains/stations', mount: '/trains', rewritePath: '/stations' }, {}],
  })
})

t.test('diff treats a mount like a rewrite of each route, and another mount as new routes', async (t) => {
  t.match(await diff(t, REWRITTEN, MOUNTED), { code: 0 })
  t.match(await diff(t, MOUNTED, REWRITTEN), { code: 0 })
  const moved = await diff(t, MOUNTED, MOUNTED.replace('mount: /trains', 'mount: /rail'))
  t.equal(moved.code, 1)
  t.match(moved.out, /\/rail\/stations\b/)
  t.match(moved.out, /\/trains\/stations\b.* now 404/)
  t.match(moved.out, /2 new, 2 gone/)
  const stripped = await diff(
    t,
    MOUNTED.replace(', mount: /trains', '')
      .replaceAll('path: /st', 'path: /trains/st')
      .replaceAll('"/st', '"/trains/st'),
    MOUNTED,
  )
  t.equal(stripped.code, 1)
  t.match(stripped.out, /rewrite +unchanged +-> +\/stations/)
})

t.test(
  'export openapi describes the paths for clients, and an import of the export gives the same routes',
  async (t) => {
    const exported = await run(t, MOUNTED, 'export', 'openapi', '--x-scopegate')
    t.equal(exported.code, 0)
    const document = JSON.parse(exported.out)
    t.same(Object.keys(document.paths), ['/trains/stations', '/trains/stations/{id}'])
    const folder = t.testdir({
      'openapi.json': exported.out,
      old: { 'trains.policy.yaml': MOUNTED },
      now: {},
    })
    const terminal = aTerminal({ folder })
    const args = ['--upstream', 'learning-platform', '--name', 'trains']
    t.equal(
      await main(['import', 'openapi.json', ...args, '--output', 'now/trains.policy.yaml'], terminal),
      0,
      terminal.said.err,
    )
    t.equal(await main(['import', 'openapi.json', '--check', 'old'], terminal), 0, terminal.said.out)
    t.equal(await main(['diff', 'old', 'now'], terminal), 0, terminal.said.out)
  },
)
