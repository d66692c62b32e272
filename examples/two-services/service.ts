import { createServer } from 'node:http'

// A service behind the gateway. It trusts the identity headers, because only the gateway can reach it.
// Usage: node service.ts NAME PORT
const [name = 'service', port = '0'] = process.argv.slice(2)

const server = createServer((request, response) => {
  const { 'x-auth-subject': subject = null, 'x-auth-client-id': client = null } = request.headers
  const { method, url } = request
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify({ service: name, method, path: url, subject, client })}\n`)
})
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`${name}: http://127.0.0.1:${address?.port}`)
})
