import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../../cli/main.ts'
import { readScopeCatalogue } from '../../../platform/config/read-scope-catalogue.ts'
import { aTerminal } from '../../fixtures/a-terminal.ts'

const TRAINS = `openapi: 3.0.3
info: { title: Train Travel }
servers: [{ url: "https://api.trains.test/v1" }, { url: "https://sandbox.trains.test" }]
paths:
  /stations:
    get: { operationId: listStations, security: [{ o: [stations.read] }] }
  /bookings:
    get: { operationId: listBookings, security: [{ o: [bookings.read] }] }
    post: { operationId: createBooking, security: [{ o: [bookings.write] }] }
  "/bookings/{id}":
    get: { operationId: readBooking, security: [{ o: [bookings.read] }] }
    put: { operationId: changeBooking, security: [{ o: [bookings.write] }] }
    delete: { operationId: removeBooking, security: [{ o: [bookings.write] }] }
components:
  securitySchemes:
    o:
      type: oauth2
      flows:
        authorizationCode: { scopes: { stations.read: See stations, bookings.read: See bookings, bookings.write: Book and cancel } }
`
const SERVER = ['--server', 'https://api.trains.test/v1'] as const
const MAP = [
  '--scope-map',
  'stations.read=courses:read',
  '--scope-map',
  'bookings.read=orders:read',
  '--scope-map',
  'bookings.write=posts:write',
] as const

/** A contract with three operations that a policy cannot express, and with two other operations. */
const MIXED = `openapi: 3.0.3
info: { title: Mixed }
security: [{ o: [] }]
paths:
  /good: { get: { operationId: good } }
  "/files/{name}.{format}": { get: { operationId: file } }
  /keys: { get: { operationId: keys, security: [{ k: [] }] }, put: { operationId: putKeys } }
  /oauth/x: { get: { operationId: reserved } }
  /again/{a}: { get: { operationId: one } }
  /again/{b}: { get: { operationId: two } }
components: { securitySchemes: { o: { type: oauth2 }, k: { type: apiKey, in: header, name: x-k } } }
`

async function run(t: Test, contract: string, ...args: readonly string[]) {
  const folder = t.testdir({ 'openapi.yaml': contract, 'map.yaml': 'stations.read: courses:read\n' })
  return { folder, ...(await runIn(folder, 'openapi.yaml', '--upstream', 'learning-platform', ...args)) }
}

async function runIn(folder: string, ...args: readonly string[]) {
  const terminal = aTerminal({ folder })
  const code = await main(['import', ...args], terminal)
  return { code, ...terminal.said }
}

t.test('import reports one problem for each cause', async (t) => {
  const { code, err } = await run(t, TRAINS, ...SERVER)
  t.equal(code, 3)
  t.equal(err.match(/error\[P201\]/g)?.length, 3)
  t.match(err, /scope "bookings\.write" is not in the scope catalogue \(3 places\)\n/)
  t.match(err, /--catalogue FILE writes an entry for the scope, --scope-map renames the scope/)
  t.match(err, /nothing was written: 3 errors\n/)
})

t.test('--server selects one of the servers, and its path is the prefix of all paths', async (t) => {
  t.match(await run(t, TRAINS, ...MAP), { code: 3, err: /error\[O104\].*different paths[\s\S]*--server/ })
  t.match(await run(t, TRAINS, ...MAP, ...SERVER), { code: 0, out: /path: \/v1\/stations / })
  t.match(await run(t, TRAINS, ...MAP, '--server', 'https://sandbox.trains.test'), {
    out: /path: \/stations /,
  })
  t.match(await run(t, TRAINS, ...MAP, '--server', '/v2/'), { code: 0, out: /path: \/v2\/stations / })
  for (const server of ['v2', 'https://a.test/?x=1', 'https://a.test/{v}'])
    t.match(await run(t, TRAINS, '--server', server), { code: 2, out: '', err: /--server: / })
})

t.test('--prefix mounts the policy, without a rewrite in any route', async (t) => {
  const { folder, code, out } = await run(
    t,
    TRAINS,
    ...MAP,
    '--server',
    '/',
    '--prefix',
    '/trains',
    '--name',
    'trains',
  )
  t.equal(code, 0)
  t.match(out, /defaults:\n {2}mount: \/trains\n {2}anonymous: challenge\n/)
  t.match(out, /path: \/stations /)
  t.notMatch(out, /rewrite/)
  writeFileSync(join(folder, 'trains.policy.yaml'), out)
  const check = ['openapi.yaml', '--check', 'trains.policy.yaml', ...MAP, '--server', '/'] as const
  t.equal((await runIn(folder, ...check, '--prefix', '/trains')).code, 0)
  t.match(await runIn(folder, ...check), { code: 1, out: /GET \/trains\/stations has a route/ })
  t.match(await run(t, TRAINS, '--prefix', 'trains'), {
    code: 2,
    err: /--prefix: a path must start with \/; write "\/trains"/,
  })
  t.match(await run(t, TRAINS, '--prefix', '/oauth'), {
    code: 2,
    err: /--prefix: "\/oauth" is reserved by Scopegate/,
  })
})

t.test('--scope-map renames scopes with pairs from the command line or from a file', async (t) => {
  const pairs = await run(t, TRAINS, ...SERVER, ...MAP)
  t.equal(pairs.code, 0, pairs.err)
  t.match(pairs.out, /name: create-booking\n.*\n {4}scopes: \{ all: \[posts:write\] \}/)
  const file = await run(t, TRAINS, ...SERVER, '--scope-map', 'map.yaml', ...MAP.slice(2))
  t.equal(file.out, pairs.out)
  t.match(await run(t, TRAINS, '--scope-map', 'nowhere.yaml'), { code: 2, err: /--scope-map: / })
  t.match(await run(t, TRAINS, '--scope-map', '=x'), { code: 2, err: /--scope-map: / })
})

t.test(
  '--catalogue writes entries for scopes that are missing in the catalogue, with descriptions',
  async (t) => {
    const { folder, code, err } = await run(
      t,
      TRAINS,
      ...SERVER,
      '--scope-map',
      'stations.read=courses:read',
      '--output',
      'a.policy.yaml',
      '--catalogue',
      'new-scopes.yaml',
    )
    t.equal(code, 0, err)
    t.match(err, /wrote new-scopes\.yaml: 2 scopes\./)
    const written = readScopeCatalogue({ file: join(folder, 'new-scopes.yaml') })
    t.match(
      [...written.values()],
      [
        { name: 'bookings.read', description: 'See bookings', group: 'Train Travel', sensitivity: 'read' },
        {
          name: 'bookings.write',
          description: 'Book and cancel',
          group: 'Train Travel',
          sensitivity: 'write',
        },
      ],
    )
    t.ok(existsSync(join(folder, 'a.policy.yaml')))
    const again = await runIn(
      folder,
      'openapi.yaml',
      '--upstream',
      'learning-platform',
      ...SERVER,
      '--catalogue',
      'new-scopes.yaml',
      '--output',
      'b.policy.yaml',
    )
    t.match(again, { code: 1, err: /new-scopes\.yaml was not written/ })
    t.notOk(existsSync(join(folder, 'b.policy.yaml')), 'both files or none')
  },
)

t.test('--skip-unsupported imports the supported operations and lists the skipped operations', async (t) => {
  const strict = await run(t, MIXED)
  t.equal(strict.code, 3)
  const { code, out, err, folder } = await run(t, MIXED, '--skip-unsupported', '--name', 'mixed')
  t.equal(code, 0, err)
  t.same(out.match(/name: \S+/g), ['name: mixed', 'name: good', 'name: put-keys', 'name: one'])
  t.match(
    err,
    /\n4 operations are skipped:\n {2}GET \/files\/\{name\}\.\{format\} \(O101\)\n {2}GET \/keys \(O103\)\n {2}GET \/oauth\/x \(P302\)\n {2}GET \/again\/\{b\} \(P301\)\n/,
  )
  const json = JSON.parse(
    (await runIn(folder, 'openapi.yaml', '--upstream', 'learning-platform', '--skip-unsupported', '--json'))
      .out,
  )
  t.match(json, {
    ok: true,
    routes: 3,
    skipped: [{ operation: 'GET /files/{name}.{format}', code: 'O101' }, {}, {}, { code: 'P301' }],
  })
  t.notOk(json.problems.some(({ severity }: { severity: string }) => severity === 'error'))
  const nothing = await run(
    t,
    MIXED.replace(/ {2}\/good[\s\S]*?\/oauth/, '  /oauth').replace(
      / {2}\/again[\s\S]*?components/,
      'components',
    ),
    '--skip-unsupported',
  )
  t.match(nothing, { code: 3, out: '', err: /error\[O005\]/ })
})
