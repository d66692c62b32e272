import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

// A local MCP client that uses the server through mcp-remote. Usage: mcp-remote.js [OPTION ...].
const folder = `${process.env.HOME}/mcp-auth`
const client = new Client({ name: 'outside-client', version: '1.0.0' })
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [
      fileURLToPath(new URL('node_modules/mcp-remote/dist/proxy.js', import.meta.url)),
      process.env.MCP_URL,
      ...process.argv.slice(2),
    ],
    env: { ...process.env, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: 'inherit',
  }),
  { timeout: 60_000 },
)
const callTool = async () => {
  const result = await client.callTool({ name: 'list_courses', arguments: { limit: 1 } })
  assert.notEqual(result.isError, true)
}
await callTool()

// The gateway rejects an unknown access token with 401, and mcp-remote then refreshes.
const [file] = globSync(`${folder}/**/*_tokens.json`)
const readTokens = () => JSON.parse(readFileSync(file, 'utf8'))
for (const attempt of [1, 2]) {
  const tokens = readTokens()
  writeFileSync(file, JSON.stringify({ ...tokens, access_token: 'expired' }))
  await callTool()
  assert.notEqual(readTokens().access_token, 'expired')
  assert.notEqual(
    readTokens().refresh_token,
    tokens.refresh_token,
    `refresh ${attempt} rotates the refresh token`,
  )
}
await client.close()
