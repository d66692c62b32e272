// The API behind the gateway. Responds with the identity headers of Scopegate.
import { createServer } from 'node:http'

createServer((request, response) => {
  const { 'x-auth-subject': subject = 'anonymous', 'x-auth-scope': scope = '' } = request.headers
  response.setHeader('content-type', 'application/json')
  response.end(`${JSON.stringify({ path: request.url, subject, scope })}\n`)
}).listen(5000, '127.0.0.1')
