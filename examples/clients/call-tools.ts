import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { createInMemoryProvider } from './in-memory-provider.ts'

// An MCP client for the command line, based on the official SDK. The client needs only the URL of a server. The client
// reads the authorization server and the scopes from the responses, also if a tool needs more scopes.
const { values, positionals } = parseArgs({
  options: { arguments: { type: 'string', default: '{}' } },
  allowPositionals: true,
})
const [url, tool] = positionals
if (url === undefined) fail('usage: call-tools.ts http://127.0.0.1:8080/mcp [TOOL] [--arguments JSON]')

const callbacks: ((query: URLSearchParams) => void)[] = []
const listener = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
  if (pathname !== '/callback') return response.writeHead(404).end()
  callbacks.shift()?.(searchParams)
  return response.writeHead(200, { 'content-type': 'text/plain' }).end('Done. You may close this page.\n')
})
await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
const redirectUrl = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`

const provider = createInMemoryProvider({
  clientName: 'Tools from the command line',
  redirectUrl,
  sendTo: (address) => {
    process.stderr.write(`Open this URL in a browser, sign in and allow access:\n\n  ${address}\n\n`)
  },
})

// A transport can start only once. The provider stores the OAuth state.
const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider })
const mcp = new Client({ name: 'call-tools', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
let transport = newTransport()
await signingIn(() => {
  transport = newTransport()
  return mcp.connect(transport)
}).catch((error: unknown) => fail(`${url} cannot be used: ${error instanceof Error ? error.message : error}`))

const { tools } = await mcp.listTools()
if (tool === undefined) for (const { name, description } of tools) console.log(`${name}\n    ${description}`)
else {
  const result = await signingIn(() => mcp.callTool({ name: tool, arguments: JSON.parse(values.arguments) }))
  for (const part of result.content) if (part.type === 'text') console.log(part.text)
  process.exitCode = result.isError === true ? 1 : 0
}
await mcp.close()
listener.close()

/** Runs the action. If the server requires a token or more scopes, signs in and repeats the action. */
async function signingIn<Result>(act: () => Promise<Result>): Promise<Result> {
  const answered = new Promise<URLSearchParams>((resolve) => callbacks.push(resolve))
  try {
    const result = await act()
    callbacks.pop()
    return result
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    const query = await answered
    if (query.get('state') !== provider.lastState) fail('the response belongs to another request')
    await transport.finishAuth(query)
    return act()
  }
}

function fail(why: string): never {
  process.stderr.write(`call-tools: ${why}\n`)
  process.exit(1)
}
