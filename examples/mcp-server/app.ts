import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { platformFor } from './call-platform.ts'
import { addTools } from './tools.ts'

/** A server that listens. */
export type RunningMcpServer = { readonly url: string; close(): Promise<void> }

/**
 * Serves the tools over Streamable HTTP at /mcp. It believes that the gateway is in front of it: who may call which tool
 * was decided there, by the headers `mcp-method` and `mcp-name`. What keeps that safe is on this side: a call whose headers
 * say something else than its body is refused (the SDK does that for the revision 2026-07-28), and older revisions, which
 * have no such headers, are not served.
 */
export async function startMcpServer(options: {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly platformUrl: URL
  readonly onError?: (error: Error) => void
}): Promise<RunningMcpServer> {
  const { onError = () => undefined } = options
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const server = new McpServer({ name: 'learning-platform-tools', version: '1.0.0' })
      addTools(
        server,
        platformFor(options.platformUrl, requestInfo?.headers.get('x-auth-assertion') ?? undefined),
      )
      return server
    },
    { legacy: 'reject', onerror: onError },
  )
  const handle = toNodeHandler(handler, { onerror: onError })
  const http = createServer((request, response) => {
    if (new URL(request.url ?? '/', 'http://server').pathname !== '/mcp') {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":"not_found","error_description":"The tools are at /mcp."}')
      return
    }
    // Node.js leaves the method out of its type for answers only.
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
