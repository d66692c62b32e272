import t, { type Test } from 'tap'
import { main } from '../../../cli/main.ts'
import { aTerminal } from '../../fixtures/a-terminal.ts'

/** Two operations of this contract do not declare security, and another operation declares an empty list. */
const UNDECLARED = `openapi: 3.0.3
info: { title: Pets }
paths:
  /user/{username}:
    get: { operationId: readUser, security: [] }
    delete: { operationId: deleteUser }
    put: { operationId: changeUser }
`

/** Most operations accept OAuth with scopes, or another scheme. One operation accepts only a bearer token. */
const ALTERNATIVES = `openapi: 3.0.3
info: { title: Clouds }
paths:
  /droplets:
    get: { operationId: listDroplets, security: [{ token: [] }, { oauth2: ["courses:read"] }] }
    post: { operationId: createDroplet, security: [{ token: [] }, { oauth2: ["courses:write"] }] }
  /keys:
    get: { operationId: listKeys, security: [{ token: [] }] }
    put: { operationId: changeKeys, security: [{ key: [] }, { oauth2: ["courses:write"] }] }
components:
  securitySchemes:
    token: { type: http, scheme: bearer }
    oauth2: { type: oauth2 }
    key: { type: apiKey, in: header, name: x-key }
`

async function run(t: Test, contract: string, ...args: readonly string[]) {
  const folder = t.testdir({ 'openapi.yaml': contract })
  const terminal = aTerminal({ folder })
  const code = await main(['import', 'openapi.yaml', '--upstream', 'learning-platform', ...args], terminal)
  return { code, ...terminal.said }
}

t.test('import writes `challenge` for operations without security, and notes this once', async (t) => {
  const { code, out, err } = await run(t, UNDECLARED)
  t.equal(code, 0)
  t.match(out, /defaults:\n {2}anonymous: challenge\n/)
  t.equal(out.match(/anonymous: allow/g)?.length, 1)
  t.match(out, /name: read-user\n.*\n {4}anonymous: allow\n/)
  t.equal(err.match(/note\[O107\]/g)?.length, 1)
  t.match(err, /note\[O107\]: 2 operations declare no security: their routes challenge anonymous callers\n/)
})

t.test('import always ends with the number of routes that are open to anonymous callers', async (t) => {
  t.match((await run(t, UNDECLARED)).err, /\n1 route is open to anonymous callers: read-user\n$/)
  const closed = await run(t, UNDECLARED.replace(', security: []', ''))
  t.match(closed.err, /\n0 routes are open to anonymous callers\n$/)
  const both = await run(t, UNDECLARED.replaceAll(/User }/g, 'User, security: [{}] }'))
  t.match(both.err, /\n3 routes are open to anonymous callers: read-user, delete-user, change-user\n$/)
  const json = JSON.parse((await run(t, UNDECLARED, '--json')).out)
  t.match(json, { ok: true, open: ['read-user'], problems: [{ code: 'O107', severity: 'note' }] })
  const written = await run(t, UNDECLARED, '--output', 'pets.policy.yaml')
  t.match(
    written.err,
    /wrote pets\.policy\.yaml: 3 routes\. .*\n1 route is open to anonymous callers: read-user\n$/,
  )
})

t.test('defaults of the contract never open an operation that declares security', async (t) => {
  const declared = UNDECLARED.replace('readUser, security: []', 'readUser, security: [{ o: [] }]')
  const schemes = 'components: { securitySchemes: { o: { type: oauth2 } } }\n'
  const { out, err } = await run(t, `${declared}x-scopegate: { defaults: { anonymous: allow } }\n${schemes}`)
  t.match(out, /name: read-user\n.*\n {4}anonymous: challenge\n/)
  t.match(err, /\n0 routes are open to anonymous callers\n$/)
})

t.test('import prints a note for each security alternative that it does not use', async (t) => {
  const contract = ALTERNATIVES.replace('{ key: [] }, ', '')
  const { code, out, err } = await run(t, contract, '--notes')
  t.equal(code, 0)
  t.notMatch(out, /courses:read/)
  t.equal(err.match(/note\[O108\]/g)?.length, 2)
  t.match(
    err,
    /note\[O108\]: GET \/droplets: the alternative oauth2 \(courses:read\) is not used: token requires less\n *--> \S*openapi\.yaml:5:/,
  )
  t.match(err, /--scheme oauth2 selects it/)
  const json = JSON.parse((await run(t, contract, '--json')).out)
  t.same(
    json.problems.map(({ code }: { code: string }) => code),
    ['O108', 'O108'],
  )
})

t.test(
  'import --scheme uses the alternatives of the selected scheme, if an operation has this scheme',
  async (t) => {
    const { code, out, err } = await run(t, ALTERNATIVES, '--scheme', 'oauth2', '--notes')
    t.equal(code, 0, err)
    t.match(out, /name: list-droplets\n.*\n {4}scopes: \{ all: \[courses:read\] \}\n/)
    t.match(out, /name: create-droplet\n.*\n {4}scopes: \{ all: \[courses:write\] \}\n/)
    t.match(out, /name: change-keys\n.*\n {4}scopes: \{ all: \[courses:write\] \}\n/)
    t.match(out, /name: list-keys\n.*\n(?! {4})/, 'it has no such alternative')
    t.match(
      err,
      /note\[O108\]: GET \/droplets: the alternative token \(no scopes\) is not used: --scheme selects oauth2\n/,
    )
    t.match(
      err,
      /note\[O108\]: PUT \/keys: the alternative key \(no scopes\) is not used: --scheme selects oauth2\n/,
    )
    const unknown = await run(t, ALTERNATIVES, '--scheme', 'oauth')
    t.equal(unknown.code, 2)
    t.equal(unknown.out, '')
    t.match(unknown.err, /--scheme: the contract has no security scheme "oauth"; did you mean oauth2\?/)
  },
)

t.test('import --check compares with the chosen scheme', async (t) => {
  const { out } = await run(t, ALTERNATIVES, '--scheme', 'oauth2', '--name', 'clouds')
  const folder = t.testdir({ 'openapi.yaml': ALTERNATIVES, 'clouds.policy.yaml': out })
  const compare = async (...args: readonly string[]) => {
    const terminal = aTerminal({ folder })
    return main(['import', 'openapi.yaml', '--check', 'clouds.policy.yaml', ...args], terminal)
  }
  t.equal(await compare('--scheme', 'oauth2'), 0)
  t.equal(await compare(), 3, 'the scheme key is an error when no scheme is chosen')
})
