import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { signIn } from './person.js'

// A client of the MCP TypeScript SDK. Usage: mcp-sdk.js PACKAGE [--document URL] [--scope SCOPE]. Uses the provider of
// examples/clients. Without a client document, the client registers.
const {
  positionals: [name],
  values: { document, scope },
} = parseArgs({
  options: { document: { type: 'string' }, scope: { type: 'string' } },
  allowPositionals: true,
})
const isSplit = name === '@modelcontextprotocol/client' // since version 2
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = isSplit
  ? await import(name)
  : {
      ...(await import(`${name}/client/index.js`)),
      ...(await import(`${name}/client/streamableHttp.js`)),
      ...(await import(`${name}/client/auth.js`)),
    }
const { createInMemoryProvider } = await import(process.env.EXAMPLE_PROVIDER)

let page
let tokens
const provider = createInMemoryProvider({
  clientName: `Client of ${name}`,
  redirectUrl: new URL('/callback', document ?? 'http://127.0.0.1:49400').href,
  sendTo: (url) => {
    page = url
  },
  onTokens: (issued) => {
    tokens = issued
  },
})
provider.clientMetadataUrl = document
provider.clientMetadata.scope = scope

const newTransport = () =>
  new StreamableHTTPClientTransport(new URL(process.env.MCP_URL), { authProvider: provider })
const client = new Client(
  { name: 'outside-client', version: '1.0.0' },
  isSplit ? { versionNegotiation: { mode: 'auto' } } : undefined,
)
const first = newTransport()
await assert.rejects(client.connect(first), UnauthorizedError)
const redirect = await signIn(page)
assert.equal(redirect.searchParams.get('state'), provider.lastState)
await first.finishAuth(isSplit ? redirect.searchParams : redirect.searchParams.get('code'))

await client.connect(newTransport())
const callTool = async () => {
  const result = await client.callTool({ name: 'list_courses', arguments: { limit: 1 } })
  assert.notEqual(result.isError, true)
}
await callTool()

// The gateway rejects an unknown access token with 401, and the SDK then refreshes.
for (const attempt of [1, 2]) {
  const { refresh_token: previous } = tokens
  provider.saveTokens({ ...tokens, access_token: 'expired' })
  await callTool()
  assert.notEqual(tokens.access_token, 'expired')
  assert.notEqual(tokens.refresh_token, previous, `refresh ${attempt} rotates the refresh token`)
}
await client.close()
