import { parseArgs } from 'node:util'
import { authorize, discover, getJson, listenOnLoopback, register } from './oauth.ts'

// A complete OAuth client for the command line, without dependencies. The client discovers the server and registers.
// Then it sends the user to the browser, receives the code on the loopback interface, and exchanges the code. Prints
// the token response as JSON on standard output.
const values = readOptions()
try {
  const server = await discover(values.api)
  const loopback = await listenOnLoopback()
  const clientId = await register(server, 'Command line example', loopback.redirectUri)
  const body = new URLSearchParams(await authorize(server, { clientId, loopback }, values.scope))
  loopback.close()
  const tokens = await getJson(server.tokenEndpoint, { method: 'POST', body })
  process.stdout.write(`${JSON.stringify({ client_id: clientId, ...tokens }, null, 2)}\n`)
} catch (error) {
  fail(error instanceof Error ? error.message : String(error))
}

function readOptions(): { readonly api: string; readonly scope: string } {
  const options = {
    api: { type: 'string', default: `http://127.0.0.1:${process.env['PORT'] ?? '8080'}` },
    scope: { type: 'string', default: 'openid courses:read' },
  } as const
  try {
    return parseArgs({ options }).values
  } catch {
    return fail('usage: npm run get-token -- [--api ADDRESS] [--scope "SCOPE SCOPE ..."]')
  }
}

function fail(text: string): never {
  process.stderr.write(`get-token: ${text}\n`)
  process.exit(1)
}
