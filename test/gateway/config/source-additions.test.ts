import t from 'tap'
import { readSourceAdditions, toSourceUpstream } from '../../../gateway/config/source-additions.ts'
import type { ScopeCatalogue } from '../../../oauth/scope.ts'
import { authorizationServerFinder } from '../../../policy-engine/load/authorization-servers.ts'
import type { SourcePermissions } from '../../../policy-engine/load/source-permissions.ts'

const OPERATOR: ScopeCatalogue = new Map([
  ['billing:admin', { name: 'billing:admin', description: 'x', group: 'x', sensitivity: 'write' }],
])

function read(files: Readonly<Record<string, string>>, permissions: Partial<SourcePermissions> = {}) {
  const source = {
    name: 'billing',
    folder: '/nowhere/billing',
    owner: 'team-billing',
    permissions: {
      pathPrefixes: ['/api/billing'],
      upstreams: ['shared'],
      addresses: ['http://billing.test:8080', 'https://pay.test/team'],
      scopes: ['billing:*'],
      anonymous: false,
      forwardCredentials: false,
      ...permissions,
    },
  }
  const folder = {
    folder: { names: Object.keys(files) },
    files: Object.entries(files).map(([name, text]) => ({ name, source: { text } })),
  }
  const findAuthorizationServers = authorizationServerFinder(
    [{ name: 'as', urls: ['http://127.0.0.1:4000'] }],
    { named: 'as', endpoints: [] },
  )
  const found = readSourceAdditions(source, folder, {
    catalogue: OPERATOR,
    findAuthorizationServers,
    toUpstream: (name, entry) => toSourceUpstream(source.name, name, entry),
  })
  return { ...found, codes: found.diagnostics.map(({ code }) => code).join(' ') }
}

const upstreams = (text: string, permissions?: Partial<SourcePermissions>) =>
  read({ 'upstreams.yaml': text }, permissions)
const aScope = (name: string, more = '') =>
  `scopes:\n  - { name: "${name}", description: a, group: b, sensitivity: read${more} }\n`
const scopes = (text: string, permissions?: Partial<SourcePermissions>) =>
  read({ 'scopes.yaml': text }, permissions)

t.test('a source without upstream and scope files defines no upstreams and no scopes', async (t) => {
  const { codes, upstreams, scopes } = read({})
  t.equal(codes, '')
  t.equal(upstreams.length + scopes.size, 0)
})

t.test('an upstream of a source can only have permitted addresses', async (t) => {
  for (const url of [
    'http://billing.test:8080',
    'http://BILLING.test:8080/any',
    'https://pay.test/team',
    'https://pay.test:443/team/a',
  ]) {
    const found = upstreams(`own: { url: "${url}", timeout: 3s }\n`)
    t.equal(found.codes, '', url)
    t.match(found.upstreams, [{ name: 'own', urls: [url], timeoutMs: 3_000, policySource: 'billing' }])
  }
  for (const url of [
    'https://billing.test:8080',
    'http://billing.test',
    'http://billing.test.evil.test:8080',
    'http://127.0.0.1:8080',
    'http://2130706433:8080',
    'http://localhost:9090',
    'http://169.254.169.254/latest',
    'https://pay.test',
    'https://pay.test/teams',
    'https://pay.test/team/../other',
    'https://pay.test/team/..;/other',
    'https://pay.test/team/%2e%2e/other',
    'https://pay.test/team%2F..%2Fother',
  ]) {
    const found = upstreams(`own: { url: "${url}" }\n`)
    t.equal(found.codes, 'P407', url)
    t.equal(found.upstreams.length, 0)
  }
  const several = upstreams('own:\n  urls: ["http://billing.test:8080", "http://other.test:8080"]\n')
  t.match(several.diagnostics, [{ code: 'P407', location: { line: 2, column: 38 } }])
  t.match(upstreams('own: { url: "http://billing.test:8080" }\n', { addresses: [] }).diagnostics, [
    { code: 'P407', hint: 'the permissions of the source contain no address' },
  ])
})

t.test('an upstream of a source replaces no upstream of the operator, and can name no file', async (t) => {
  t.equal(upstreams('shared: { url: "http://billing.test:8080" }\n').codes, 'P408')
  t.equal(upstreams('foreign: { url: "http://billing.test:8080" }\n').codes, '')
  t.equal(upstreams('own: { url: "https://pay.test/team", caFile: /run/secrets/x }\n').codes, 'P408')
  t.equal(
    upstreams(
      'own: { url: "https://pay.test/team", credentials: { basic: { username: a, passwordFile: /run/secrets/x } } }\n',
    ).codes,
    'P408',
  )
  t.equal(upstreams('own: { url: "https://pay.test/team", certFile: /a, keyFile: /b }\n').codes, 'P408 P408')
  const probed = 'own: { url: "https://pay.test/team", healthCheck: { path: /healthz }'
  t.equal(upstreams(`${probed} }\n`).codes, 'P408')
  t.equal(
    upstreams(`${probed}, credentials: { basic: { username: a, passwordFile: /a } } }\n`).codes,
    'P408 P408',
  )
  t.match(upstreams('own: { srv: "http://_http._tcp.billing.test" }\n').codes, /P408/)
  t.equal(
    upstreams('own: { srv: "http://_http._tcp.billing.test" }\n', {
      addresses: ['http://_http._tcp.billing.test'],
    }).codes,
    'P408',
  )
  t.equal(upstreams('own: { urll: "x" }\n').codes, 'C101')
  t.equal(upstreams('own: { timeout: 1s }\n').codes, 'C307')
  t.match(upstreams('{').codes, /^C/)
})

t.test(
  'an upstream of a source cannot have an address of the authorization server under any name',
  async (t) => {
    for (const url of ['http://127.0.0.1:4000', 'http://localhost:4000'])
      t.same(
        [...upstreams(`own: { url: "${url}" }\n`, { addresses: [url] }).authorizationServers],
        ['own'],
        url,
      )
    t.same([...upstreams('own: { url: "http://billing.test:8080" }\n').authorizationServers], [])
  },
)

t.test('the scopes of a source begin with its name', async (t) => {
  const { codes, scopes: found } = scopes(aScope('billing:read'))
  t.equal(codes, '')
  t.same([...found.keys()], ['billing:read'])
  for (const name of ['courses:read', 'billing', 'billings:read', 'BILLING:read', 'openid'])
    t.equal(scopes(aScope(name)).codes, 'P409', name)
  t.equal(scopes(aScope('billing:read'), { scopes: ['billing:write'] }).codes, 'P409')
  t.equal(scopes(aScope('courses:read'), { scopes: ['*'] }).codes, 'P409', 'a permission for all names')
  t.equal(scopes(aScope('billing:all', ', implies: ["courses:write"]')).codes, 'C202', 'another source')
  t.equal(scopes(aScope('billing:all', ', implies: ["billing:admin"]')).codes, 'C202', 'the operator')
})

t.test('a scope of the operator takes precedence, and does not make the source invalid', async (t) => {
  const found = scopes(aScope('billing:admin'))
  t.match(found.diagnostics, [{ code: 'P409', severity: 'warning' }])
  t.equal(found.scopes.size, 0)
})

t.test('a scope of a source does not imply a scope of the operator, even with a copy of it', async (t) => {
  const foo = (more: string) => aScope('billing:foo', more).replace('scopes:\n', '')
  const found = scopes(aScope('billing:admin') + foo(', implies: ["billing:admin"]'))
  t.match(found.diagnostics, [
    { code: 'P409', severity: 'warning', location: { line: 2 } },
    {
      code: 'P409',
      severity: 'error',
      message: '"billing:foo" implies "billing:admin", which the operator defines',
      location: { line: 3, column: 83 },
    },
  ])
  t.equal(found.scopes.size, 0)
  const dropped = scopes(aScope('billing:admin', ', implies: ["billing:foo"]') + foo(''))
  t.match(dropped.diagnostics, [{ code: 'P409', severity: 'warning' }])
  t.equal(dropped.diagnostics.length, 1, 'the definition of the operator replaces this one')
})

t.test('a source above the limits of its files is invalid', async (t) => {
  const many = (count: number, url = 'http://billing.test:8080') =>
    upstreams(Array.from({ length: count }, (_, at) => `u${at}: { url: "${url}" }\n`).join(''))
  t.equal(many(100).codes, '')
  t.match(many(101).diagnostics, [{ code: 'P007', location: { line: 101 } }])
  t.equal(many(101, 'http://other.test').codes, 'P007', 'no check of each upstream')
  t.equal(many(101).upstreams.length, 0)
  t.equal(many(60, 'http://other.test').diagnostics.length, 51, 'a limited number of diagnostics')

  const catalogueOf = (count: number, implied = 0) => {
    const names = Array.from({ length: count }, (_, at) => `billing:s${at}`)
    const implies = implied === 0 ? '' : `, implies: ${JSON.stringify(names.slice(1, implied + 1))}`
    const lines = names.map((name, at) => aScope(name, at === 0 ? implies : '').replace('scopes:\n', ''))
    return scopes(`scopes:\n${lines.join('')}`)
  }
  t.equal(catalogueOf(200).codes, '')
  t.match(catalogueOf(201).diagnostics, [{ code: 'P007', location: { line: 202 } }])
  t.equal(catalogueOf(66, 64).codes, '')
  t.match(catalogueOf(66, 65).diagnostics, [{ code: 'P007', location: { line: 2 } }])
  t.equal(catalogueOf(66, 65).scopes.size, 0)
  const dense = scopes(`scopes:\n${'  - { implies: [a, a, a, a, a, a, a, a, a, a, a] }\n'.repeat(6)}`)
  t.equal(dense.codes, 'P007', 'no check of each scope')

  const valid = 'own: { url: "http://billing.test:8080" }\n'
  t.equal(upstreams(valid.padEnd(65_536, '#')).codes, '')
  t.equal(upstreams(valid.padEnd(65_537, '#')).codes, 'P007')
  t.equal(scopes(aScope('billing:read').padEnd(65_537, '#')).codes, 'P007')
})

t.test('an upstream of a source cannot name an OpenAPI document', async (t) => {
  for (const path of ['/openapi.json', '/../../other/x?do=1'])
    t.match(upstreams(`own: { url: "http://billing.test:8080", openapi: "${path}" }\n`).diagnostics, [
      { code: 'P408', location: { line: 1, column: 50 } },
    ])
})

t.test('an address that is not a URL has a diagnostic with its location', async (t) => {
  for (const url of ['http://billing.test:99999', 'http://1.2.3.4.5']) {
    t.match(upstreams(`own: { url: "${url}" }\n`).diagnostics, [
      { code: 'C105', location: { line: 1, column: 13 } },
    ])
    t.match(upstreams(`own:\n  urls: ["http://billing.test:8080", "${url}"]\n`).diagnostics, [
      { code: 'C105', location: { line: 2, column: 38 } },
    ])
  }
})
