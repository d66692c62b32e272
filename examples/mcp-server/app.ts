import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { platformFor } from './call-platform.ts'
import { addTools } from './tools.ts'

export type RunningMcpServer = { readonly url: string; close(): Promise<void> }

/**
 * Serves the tools over Streamable HTTP at /mcp. The gateway reads the headers `mcp-method` and `mcp-name` to decide
 * whether the caller may call a tool. The SDK therefore rejects a call whose headers differ from its body (revision
 * 2026-07-28). Older revisions have no such headers.
 */
export async function startMcpServer(options: {
  readonly host: string
  /** If 0, the system selects a free port. */
  readonly port: number
  readonly platformUrl: URL
  /** `stateless` also accepts older revisions, for a policy that does not use these headers. Default: `reject`. */
  readonly legacy?: 'reject' | 'stateless'
  readonly onError?: (error: Error) => void
}): Promise<RunningMcpServer> {
  const { legacy = 'reject', onError = () => undefined } = options
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const server = new McpServer({ name: 'learning-platform-tools', version: '1.0.0' })
      addTools(
        server,
        platformFor(options.platformUrl, requestInfo?.headers.get('x-auth-assertion') ?? undefined),
      )
      return server
    },
    { legacy, onerror: onError },
  )
  const handle = toNodeHandler(handler, { onerror: onError })
  const http = createServer((request, response) => {
    if (new URL(request.url ?? '/', 'http://server').pathname !== '/mcp') {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":"not_found","error_description":"The MCP endpoint is /mcp."}')
      return
    }
    // In the type of Node.js, `method` is optional, because the type also covers responses.
    handle(request as NodeIncomingMessageLike, response).catch(onError)
  })
  await once(http.listen(options.port, options.host), 'listening')
  const { port } = http.address() as AddressInfo
  return {
    url: `http://${options.host}:${port}`,
    async close() {
      await handler.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
