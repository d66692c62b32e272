import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

// The mode `authorization` of MCP's conformance suite tests an authorization server. The suite prints the URL of the
// authorization request for a person.
const PORT = 32_112
const base = process.env.BASE_URL
const registered = await fetch(`${base}/api/oauth/register`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ client_name: 'Conformance', redirect_uris: [`http://127.0.0.1:${PORT}/callback`] }),
})
assert.equal(registered.status, 201)
const { client_id: clientId } = await registered.json()

const suite = spawn(
  process.execPath,
  [
    fileURLToPath(new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url)),
    'authorization',
    ...['--url', base, '--client-id', clientId, '--port', String(PORT)],
    ...process.argv.slice(2),
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
let output = ''
let opened = 0
suite.stdout.setEncoding('utf8').on('data', (text) => {
  process.stdout.write(text)
  output += text
  const pages = [...output.matchAll(/^(\S+\/oauth\/authorize\?\S+)\n/gm)]
  for (const [, page] of pages.slice(opened)) execFile(process.env.BROWSER, [page])
  opened = pages.length
})
const [code] = await once(suite, 'close')
process.exitCode = code
