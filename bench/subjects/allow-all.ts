// The smallest server that nginx can call with auth_request. Allows every request without a check, except for requests
// with the header x-bench-deny.
import { createServer } from 'node:http'
import { announceListening } from '../announce-listening.ts'

/** The benchmark sends one request with this header to check that nginx calls this server. */
const DENY = 'x-bench-deny'

announceListening(
  createServer((request, response) => {
    response.writeHead(request.headers[DENY] === undefined ? 204 : 403).end()
  }),
)
