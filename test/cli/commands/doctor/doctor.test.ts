import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readChallenges } from '../../../../cli/commands/doctor/check-challenge.ts'
import { CHECKS, type CheckName } from '../../../../cli/commands/doctor/checks.ts'
import { main } from '../../../../cli/main.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { documentedBlock } from '../../../fixtures/repository-texts.ts'
import { type Bend, type BentAnswer, startBentGateway } from '../../../fixtures/start-bent-gateway.ts'
import { startScopegate } from '../../../fixtures/start-scopegate.ts'

const { baseUrl } = await startScopegate(t)
const bent = await startBentGateway(t, baseUrl)
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'
const OAUTH_METADATA = '/.well-known/oauth-authorization-server'
const OPENID_METADATA = '/.well-known/openid-configuration'

type Found = {
  readonly check: CheckName
  readonly level: string
  readonly says: string
  readonly remedy?: string
}

async function examine(...args: string[]) {
  const terminal = aTerminal()
  const code = await main(['doctor', '--json', ...args], terminal)
  const { healthy, findings } = JSON.parse(terminal.said.out) as { healthy: boolean; findings: Found[] }
  return { code, healthy, findings, faults: findings.filter(({ level }) => level === 'fault') }
}

t.test('doctor finds no fault in a gateway, directly and behind a transparent proxy', async (t) => {
  for (const url of [baseUrl, `${baseUrl}/`, bent.url]) {
    const { code, healthy, findings } = await examine(url)
    t.same(
      findings.filter(({ level }) => level !== 'ok'),
      [],
      url,
    )
    t.equal(code, 0)
    t.equal(healthy, true)
    t.ok(findings.length >= 20)
  }
})

t.test(
  'the text output of doctor has a line for each finding, a remedy for each fault, and a summary',
  async (t) => {
    bent.bend(() => undefined)
    const well = aTerminal()
    t.equal(await main(['doctor', bent.url], well), 0)
    t.match(well.said.out, /^✓ reachable +responds with 200$/m)
    t.match(well.said.out, /\nhealthy: \d+ checks\n$/)
    bent.bend((answer) => {
      delete answer.headers['www-authenticate']
    })
    const ill = aTerminal()
    t.equal(await main(['doctor', bent.url, '--quiet'], ill), 1)
    t.match(ill.said.out, /^✗ challenge +401 without WWW-Authenticate\n {2}http\S+\n {2}configure the proxy/m)
    t.notMatch(ill.said.out, '✓')
    t.match(ill.said.out, /\d+ faults? in \d+ checks\n$/)
  },
)

/** A fault of a server, a function that causes the fault, the check that reports the fault, and text of the report. */
const FAULTS: readonly (readonly [what: string, bend: Bend, check: CheckName, says: RegExp])[] = [
  [
    'the metadata gets 403',
    on(RESOURCE_METADATA, { status: 403 }),
    'resource-metadata',
    /^the status is 403$/,
  ],
  [
    'the metadata is an HTML page',
    on(RESOURCE_METADATA, (a) => {
      a.headers['content-type'] = 'text/html'
      a.body = '<!doctype html>'
    }),
    'resource-metadata',
    /not a JSON object \(Content-Type: text\/html/,
  ],
  [
    'the metadata redirects',
    on(RESOURCE_METADATA, (a) => {
      a.status = 302
      a.headers['location'] = 'https://other.example/metadata'
    }),
    'resource-metadata',
    /302 with a redirect to https:\/\/other\.example/,
  ],
  [
    'the metadata has a wrong type',
    on(RESOURCE_METADATA, { headers: { 'content-type': 'text/plain' } }),
    'resource-metadata',
    /Content-Type is text\/plain/,
  ],
  [
    'the resource in the metadata is another URL',
    json(RESOURCE_METADATA, (d) => ({ ...d, resource: 'http://gateway.internal:8080' })),
    'resource',
    /"http:\/\/gateway\.internal:8080", but clients use/,
  ],
  [
    'the resource in the metadata has a trailing slash',
    json(RESOURCE_METADATA, (d) => ({ ...d, resource: `${d['resource']}/` })),
    'resource',
    /\/", but clients/,
  ],
  [
    'the metadata lists no authorization server',
    json(RESOURCE_METADATA, (d) => ({ ...d, authorization_servers: [] })),
    'resource-metadata',
    /contains no http or https URL/,
  ],
  [
    'an unknown resource has metadata',
    (a, path) => {
      if (path.startsWith(`${RESOURCE_METADATA}/`)) a.status = 200
    },
    'path-metadata',
    /200 for an unknown resource, not 404/,
  ],
  [
    'the authorization server metadata names another issuer',
    json(OAUTH_METADATA, (d) => ({ ...d, issuer: 'https://login.example.com' })),
    'issuer',
    /"https:\/\/login\.example\.com"/,
  ],
  [
    'one of the two metadata documents of the issuer is missing',
    on(OPENID_METADATA, { status: 404 }),
    'server-metadata',
    /404/,
  ],
  [
    'the two metadata documents of the issuer are different',
    json(OPENID_METADATA, (d) => ({ ...d, token_endpoint: `${d['token_endpoint']}2` })),
    'server-metadata',
    /^token_endpoint: different from/,
  ],
  [
    'PKCE is not advertised',
    json(OPENID_METADATA, ({ code_challenge_methods_supported: _, ...d }) => d),
    'pkce',
    /lacks S256/,
  ],
  ['the token endpoint is not routed', on('/api/oauth/token', { status: 404 }), 'endpoints', /404, not 400/],
  [
    'the token endpoint may be cached',
    on('/api/oauth/token', { headers: { 'cache-control': 'public, max-age=60' } }),
    'endpoints',
    /can be cached/,
  ],
  [
    'an endpoint is not a URL',
    json(OAUTH_METADATA, (d) => ({ ...d, revocation_endpoint: '/api/oauth/revoke' })),
    'endpoints',
    /revocation_endpoint is "\/api/,
  ],
  [
    'the key set contains a private key',
    json('/api/oauth/jwks', () => ({ keys: [{ kty: 'EC', d: 'x' }] })),
    'endpoints',
    /PRIVATE/,
  ],
  [
    'the authorization endpoint allows pages of other origins',
    on('/oauth/authorize', { headers: { 'access-control-allow-origin': '*' } }),
    'endpoints',
    /pages of other origins/,
  ],
  [
    'a scope that the issuer does not support is required',
    json(RESOURCE_METADATA, (d) => ({ ...d, scopes_supported: ['courses:read', 'courses:fly'] })),
    'scopes',
    /^courses:fly/,
  ],
  [
    'documents have no CORS headers',
    on(RESOURCE_METADATA, (a) => {
      delete a.headers['access-control-allow-origin']
    }),
    'cors',
    /Allow-Origin is missing$/,
  ],
  [
    'CORS does not expose the challenge',
    (a) => {
      delete a.headers['access-control-expose-headers']
    },
    'cors',
    /Expose-Headers lacks WWW-Authenticate/,
  ],
  [
    'errors have no CORS headers',
    (a) => {
      if (a.status === 401) delete a.headers['access-control-allow-origin']
    },
    'cors',
    /missing on an error/,
  ],
  [
    'preflights require a token',
    (a, _path, method) => {
      if (method === 'OPTIONS') a.status = 401
    },
    'cors',
    /the response to a preflight is 401/,
  ],
  [
    'the challenge names another metadata URL',
    (a) => {
      const header = a.headers['www-authenticate']
      if (header !== undefined)
        a.headers['www-authenticate'] = header.replace(
          /resource_metadata="[^"]*"/,
          'resource_metadata="http://x"',
        )
    },
    'challenge',
    /resource_metadata is "http:\/\/x"/,
  ],
  [
    'the challenge is malformed',
    (a) => {
      if (a.status === 401) a.headers['www-authenticate'] = 'Bearer realm="api'
    },
    'challenge',
    /no valid Bearer challenge/,
  ],
  [
    'an invalid token gets 403',
    (a) => {
      if (a.status === 401) a.status = 403
    },
    'challenge',
    /is 403, not 401/,
  ],
  [
    'an invalid token gets 200',
    (a, path) => {
      if (path.startsWith('/api/') && a.status === 401) a.status = 200
    },
    'challenge',
    /is 200, not 401/,
  ],
  [
    'a token in the URL gets 200',
    (a, path, method) => {
      if (path.startsWith('/api/') && a.status === 400 && method === 'GET') a.status = 200
    },
    'credentials',
    /the response to a token in the URL is 200/,
  ],
  [
    'the clock of the server is wrong',
    on(RESOURCE_METADATA, { headers: { date: 'Sat, 01 Jan 2000 00:00:00 GMT' } }),
    'clock',
    /^the clock of the gateway differs by \d{9} s/,
  ],
  ['the base URL redirects', on('/', { status: 301 }), 'reachable', /redirects/],
]

for (const [what, bend, check, says] of FAULTS)
  t.test(`doctor reports the fault and a remedy: ${what}`, async (t) => {
    bent.bend(bend)
    const { code, faults } = await examine(bent.url)
    t.equal(code, 1)
    const fault = faults.find((one) => one.check === check && says.test(one.says))
    t.ok(fault, JSON.stringify(faults, null, 2))
    t.ok((fault?.remedy ?? '').length > 10, 'the fault has a remedy')
  })

t.test('doctor escapes control characters in responses of other servers', async (t) => {
  bent.bend(json(RESOURCE_METADATA, (d) => ({ ...d, resource: '\u001b[2J\u202ewipes the screen' })))
  const terminal = aTerminal()
  t.equal(await main(['doctor', bent.url], terminal), 1)
  for (const obeyed of ['\u001b', '\u202e']) t.notOk(terminal.said.out.includes(obeyed))
  t.match(terminal.said.out, 'wipes the screen')
})

t.test('doctor ends its checks of endless documents and of servers that do not respond', async (t) => {
  bent.bend(on(RESOURCE_METADATA, { body: `{"a":"${'x'.repeat(2_000_000)}"}` }))
  const { code, faults } = await examine(bent.url)
  t.equal(code, 1)
  t.match(faults, [{ check: 'resource-metadata', says: /longer than 1048576 bytes/ }])
  const nobody = await examine('http://127.0.0.1:1')
  t.equal(nobody.code, 1)
  t.match(nobody.faults, [{ check: 'reachable', says: /no service listens on this address/ }])
})

t.test(
  'doctor reports an unknown CA and a certificate that expires soon, and accepts a configured CA',
  async (t) => {
    const authority = aCertificate({ authority: true })
    const { cert, key } = aCertificate({ by: authority })
    const url = await listen(
      t,
      createServer({ cert, key }, (_, response) => response.end('{}')),
      'https',
    )
    const unknown = await examine(url)
    t.match(unknown.faults, [{ check: 'reachable', says: /unknown CA; name the CA with --ca/ }])
    const file = join(t.testdir({ 'ca.pem': authority.cert }), 'ca.pem')
    const { findings } = await examine(url, '--ca', file)
    t.match(findings, [
      { check: 'reachable', level: 'ok' },
      { check: 'certificate', level: 'warning' },
    ])
    t.match(findings[1]?.says ?? '', /the certificate expires in 0 days/)
  },
)

t.test('doctor reports http as a fault, except on loopback addresses', async (t) => {
  const url = await listen(
    t,
    createPlainServer((_, response) => response.end('{}')),
    'http',
  )
  const { faults } = await examine(url.replace('127.0.0.1', '[::ffff:127.0.0.1]'))
  t.match(faults, [{ check: 'transport', says: /plain http/ }, { check: 'resource-metadata' }])
})

t.test('doctor rejects invalid URLs and paths as wrong usage', async (t) => {
  for (const args of [
    ['127.0.0.1:8080'],
    ['ftp://127.0.0.1'],
    ['http://user:pass@127.0.0.1'],
    ['http://127.0.0.1/?a=b'],
    [baseUrl, '--path', 'api/courses'],
    [baseUrl, '--resource', 'mcp'],
    [],
  ]) {
    const terminal = aTerminal()
    t.equal(await main(['doctor', ...args], terminal), 2, args.join(' '))
    t.match(terminal.said.err, 'See: scopegate doctor --help')
    t.equal(terminal.said.out, '')
  }
  const terminal = aTerminal()
  t.equal(await main(['doctor', baseUrl, '--ca', '/nowhere.pem'], terminal), 1)
  t.match(terminal.said.err, '--ca /nowhere.pem cannot be read')
})

t.test('parses every valid form of a challenge', (t) => {
  t.same(readChallenges('Basic, Bearer error="a \\"b\\"", x=y ,DPoP algs="ES256 PS256"')?.map(flat), [
    ['basic', {}],
    ['bearer', { error: 'a "b"', x: 'y' }],
    ['dpop', { algs: 'ES256 PS256' }],
  ])
  for (const bad of ['', 'error="x"', 'Bearer error="x', 'Bearer a="1", a="2"', 'Bearer \u0001'])
    t.equal(readChallenges(bad), undefined, bad)
  t.end()
})

t.test('the commands of docs/doctor.md examine a gateway', async (t) => {
  const commands = documentedBlock('docs/doctor.md', 'scopegate doctor').trim().split('\n')
  t.equal(commands.length, 2)
  for (const command of commands) {
    const args = command.replace('https://api.example.com', baseUrl).split(' ').slice(2)
    const { code, findings } = await examine(...args)
    // The gateway does not have the resource of the second command.
    t.equal(code, args.includes('--resource') ? 1 : 0, command)
    t.ok(findings.length > 0, command)
  }
})

t.test('docs/doctor.md explains exactly the checks of doctor', (t) => {
  const text = readFileSync(join(findPackageRoot(), 'docs/doctor.md'), 'utf8')
  const explained = [...text.matchAll(/^\| `([a-z-]+)` +\| (.*?) +\|/gm)].map(([, name, what]) => [
    name,
    what,
  ])
  t.same(explained, Object.entries(CHECKS))
  t.end()
})

/** Returns a function that changes the responses of one path. An object `bend` contains the values to set. */
function on(path: string, bend: ((answer: BentAnswer) => void) | Partial<BentAnswer>): Bend {
  return (answer, asked) => {
    if (asked !== path) return
    if (typeof bend === 'function') bend(answer)
    else Object.assign(answer, bend, { headers: { ...answer.headers, ...bend.headers } })
  }
}

function json(path: string, change: (document: Record<string, unknown>) => Record<string, unknown>): Bend {
  return on(path, (answer) => {
    answer.body = JSON.stringify(change(JSON.parse(answer.body)))
  })
}

function flat({ scheme, parameters }: NonNullable<ReturnType<typeof readChallenges>>[number]) {
  return [scheme, Object.fromEntries(parameters)]
}

async function listen(t: Test, server: Server, protocol: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`
}
