import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import {
  Client,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import t from 'tap'
import { createInMemoryProvider } from '../../examples/clients/in-memory-provider.ts'
import { startMcpServer } from '../../examples/mcp-server/app.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// The client of the official SDK uses the tools of examples/mcp-server. The client knows only the URL of the server.
const REDIRECT_URI = 'http://127.0.0.1:49300/callback'
const REVISION = '2026-07-28'
const folder = (name: string): string =>
  fileURLToPath(new URL(`../../examples/mcp-server/${name}`, import.meta.url))

const platformPort = await quietPort()
const server = await startMcpServer({
  host: '127.0.0.1',
  port: 0,
  platformUrl: new URL(`http://127.0.0.1:${platformPort}`),
})
t.teardown(() => server.close())
const scopegate = await startScopegate(t, {
  args: ['--config', folder('config'), '--policies', folder('policies')],
  env: {
    LEARNING_PLATFORM_PORT: String(platformPort),
    LEARNING_PLATFORM_GATEWAY_AUDIENCE: 'learning-platform,mcp-server',
    SCOPEGATE_UPSTREAMS__MCP_SERVER__URL: server.url,
  },
})
const { baseUrl } = scopegate
const address = `${baseUrl}/mcp`
const metadata = `${baseUrl}/.well-known/oauth-protected-resource/mcp`

t.test('challenges a request without a token with the metadata URL and the scope', async (t) => {
  const answer = await call({ method: 'server/discover' })
  t.equal(answer.status, 401)
  const challenge = parseChallenge(answer.headers.get('www-authenticate'))
  t.same(challenge, { scheme: 'Bearer', parameters: { resource_metadata: metadata, scope: 'courses:read' } })
  const document = await send(metadata)
  t.equal(document.status, 200)
  t.match(document.json, {
    resource: address,
    authorization_servers: [baseUrl],
    scopes_supported: ['courses:read', 'orders:read'],
  })
})

t.test('forwards no call whose headers do not match the policy', async (t) => {
  const hidden: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'no version': { 'mcp-method': 'tools/call', 'mcp-name': 'list_courses' },
    'an invalid version': {
      'mcp-protocol-version': 'latest',
      'mcp-method': 'tools/call',
      'mcp-name': 'list_courses',
    },
    'a tool without a route': named('drop_everything'),
    'a name in another case': named('LIST_COURSES'),
    'an encoded name without a route': named(encoded('drop_everything')),
    'a name that is two': named('list_courses, create_course'),
  }
  for (const [what, headers] of Object.entries(hidden)) {
    const answer = await send(address, { method: 'POST', headers, body: '{}' })
    t.equal(answer.status, 404, what)
    t.equal(answer.headers.get('x-scopegate-error'), '1', `${what}: the response is from the gateway`)
  }
})

t.test('challenges a client of an older revision, and names the revision that it must use', async (t) => {
  const transport = () => new StreamableHTTPClientTransport(new URL(address))
  const client = new Client({ name: 'an-older-agent', version: '1.0.0' })
  await t.rejects(client.connect(transport()), { message: /unauthorized/i })
  const message = { method: 'POST', json: { jsonrpc: '2.0', id: 1, method: 'initialize' } }
  const challenged = await send(address, message)
  t.equal(challenged.status, 401)
  t.same(parseChallenge(challenged.headers.get('www-authenticate')), {
    scheme: 'Bearer',
    parameters: { resource_metadata: metadata },
  })
  const denied = await send(address, { ...message, token: 'any' })
  t.equal(denied.status, 400)
  t.match(denied.json, { error: 'invalid_request', error_description: /2026-07-28/ })
})

t.test('treats an encoded tool name as the decoded name', async (t) => {
  const answer = await call({ method: 'tools/call', name: encoded('create_course'), state: 'draft' })
  t.equal(answer.status, 401)
  t.match(parseChallenge(answer.headers.get('www-authenticate')).parameters, { scope: 'courses:write' })
})

t.test('an agent signs in, lists tools, calls one, steps up and calls another', async (t) => {
  const agent = anAgent()
  await t.rejects(agent.client.connect(agent.transport), UnauthorizedError)
  await agent.finish()
  t.equal(agent.asked.at(-1)?.get('scope'), 'courses:read', 'the agent requested the scope of the challenge')
  t.equal(agent.asked.at(-1)?.get('resource'), address, 'the agent requested a token for this resource')
  await agent.client.connect(agent.newTransport())

  const { tools } = await agent.client.listTools()
  t.same(
    tools.map(({ name }) => name),
    ['list_courses', 'read_course', 'create_course', 'list_orders'],
  )
  const listed = await agent.client.callTool({ name: 'list_courses', arguments: { limit: 2 } })
  t.not(listed.isError, true)
  t.equal(readText(listed).items.length, 2, 'the tool received the data of the platform')

  const course = {
    title: 'Tools for agents',
    slug: `tools-${randomBytes(4).toString('hex')}`,
    summary: 'Tools that an agent can call.',
    level: 'beginner',
    price_cents: 0,
    state: 'draft',
  }
  const create = () => agent.client.callTool({ name: 'create_course', arguments: course })
  const token = agent.token()
  const denied = await call({ method: 'tools/call', name: 'create_course', state: 'draft', token })
  t.equal(denied.status, 403)
  t.match(parseChallenge(denied.headers.get('www-authenticate')).parameters, {
    error: 'insufficient_scope',
    scope: 'courses:write',
    resource_metadata: metadata,
  })
  await t.rejects(create(), UnauthorizedError, 'the SDK starts a new authorization')
  await agent.finish()
  t.equal(
    agent.asked.at(-1)?.get('scope'),
    'courses:read courses:write',
    'the agent requested its current scope and the missing scope',
  )
  const created = await create()
  t.not(created.isError, true)
  t.match(readText(created), course)

  const published = { ...course, slug: `${course.slug}-2`, state: 'published' }
  await t.rejects(
    agent.client.callTool({ name: 'create_course', arguments: published }),
    UnauthorizedError,
    'the policy requires another scope for this argument',
  )
  t.match(agent.asked.at(-1)?.get('scope'), 'school:write')

  t.equal(
    (await send(`${baseUrl}/api/courses`, { token: agent.token() })).status,
    404,
    'the token is not valid on another route',
  )
  await agent.client.close()
})

t.test('the MCP server rejects a call whose body contradicts its headers', async (t) => {
  const agent = anAgent()
  await t.rejects(agent.client.connect(agent.transport), UnauthorizedError)
  await agent.finish()
  for (const [method, name] of [
    ['tools/call', 'create_course'],
    ['tools/list', undefined],
  ] as const) {
    const answer = await call({
      method: 'tools/call',
      name: 'list_courses',
      token: agent.token(),
      body: { method, ...(name === undefined ? {} : { name }) },
    })
    t.equal(answer.status, 400, `${method} ${name ?? ''}`)
    t.equal(answer.headers.get('x-scopegate-error'), null, 'the response comes from the server')
    t.match(answer.json, { error: { message: /header/i } })
  }
})

t.test('a call with the header of another argument, or without this header, reaches no tool', async (t) => {
  const create = { method: 'tools/call', name: 'create_course', token: 'any' }
  t.equal((await call(create)).status, 400)
  t.equal((await call({ ...create, state: 'hidden' })).status, 404)
})

/** Creates a client of the SDK. The client has a provider that stores its state, and a user with a browser. */
function anAgent() {
  let tokens: OAuthTokens | undefined
  let goTo: URL | undefined
  const asked: URLSearchParams[] = []
  const provider = createInMemoryProvider({
    clientName: 'An agent',
    redirectUrl: REDIRECT_URI,
    sendTo: (to) => {
      goTo = to
      asked.push(to.searchParams)
    },
    onTokens: (issued) => {
      tokens = issued
      scopegate.secret(issued.access_token)
      scopegate.secret(issued.refresh_token)
    },
    onVerifier: scopegate.secret,
  })
  const client = new Client({ name: 'an-agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  let transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider })
  return {
    client,
    asked,
    transport,
    newTransport() {
      transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider })
      return transport
    },
    token: () => tokens?.access_token ?? '',
    async finish() {
      if (goTo === undefined) throw new Error('the SDK did not start an authorization')
      const redirect = await signIn(openBrowser(baseUrl), goTo)
      if (redirect.searchParams.get('state') !== provider.lastState) throw new Error('another state')
      await transport.finishAuth(redirect.searchParams)
    },
  }
}

/** Sends one call in the format of the protocol revision. `body` replaces values that are also in headers. */
async function call(what: {
  readonly method: string
  readonly name?: string
  /** The header `Mcp-Param-State`. */
  readonly state?: string
  readonly token?: string
  readonly body?: { readonly method: string; readonly name?: string }
}) {
  const { method, name, token } = what
  const said = what.body ?? what
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...(name === undefined ? { 'mcp-protocol-version': REVISION } : named(name)),
    'mcp-method': method,
    ...(what.state === undefined ? {} : { 'mcp-param-state': what.state }),
  }
  const json = {
    jsonrpc: '2.0',
    id: 1,
    method: said.method,
    params: {
      ...(said.name === undefined ? {} : { name: said.name, arguments: {} }),
      _meta: {
        'io.modelcontextprotocol/protocolVersion': REVISION,
        'io.modelcontextprotocol/clientInfo': { name: 'by-hand', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }
  return send(address, { method: 'POST', headers, json, token })
}

function named(name: string): Readonly<Record<string, string>> {
  return { 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/call', 'mcp-name': name }
}

/** The protocol specifies this encoding for names that are not valid header values. */
function encoded(name: string): string {
  return `=?base64?${Buffer.from(name).toString('base64')}?=`
}

function readText(result: { readonly content: readonly { readonly type: string }[] }) {
  const [part] = result.content
  return JSON.parse((part as { text?: string } | undefined)?.text ?? 'null')
}
