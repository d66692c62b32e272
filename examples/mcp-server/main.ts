import { startMcpServer } from './app.ts'
import { readSettings } from './settings.ts'

try {
  const server = await startMcpServer({
    ...readSettings(process.env),
    onError: (error) => console.error(`mcp-server: ${error.message}`),
  })
  console.log(`mcp-server: the MCP endpoint is ${server.url}/mcp; allow connections only from the gateway`)
  const stop = () => void server.close().then(() => process.exit(0))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
} catch (error) {
  console.error(`mcp-server: ${error instanceof Error ? error.message : error}`)
  process.exit(1)
}
