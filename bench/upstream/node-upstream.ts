// The upstream of a benchmark without nginx. The process responds to every request with the same small JSON. Plain
// sockets save CPU time, so that the server under test stays the bottleneck. The upstream accepts only requests without
// a body, so the end of a head (RFC 9112 section 2.1) is the end of a request.
import { createServer } from 'node:net'
import { announceListening } from '../announce-listening.ts'
import { UPSTREAM_RESPONSE } from './response.ts'

const HEAD_END = '\r\n\r\n'
// The response has the headers of an nginx response.
const RESPONSE = Buffer.from(
  `HTTP/1.1 200 OK\r\nServer: bench\r\nDate: ${new Date().toUTCString()}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${UPSTREAM_RESPONSE.length}\r\nConnection: keep-alive\r\n\r\n${UPSTREAM_RESPONSE}`,
)

const server = createServer({ noDelay: true }, (socket) => {
  let rest = ''
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    const received = rest + text
    let from = 0
    for (let end = received.indexOf(HEAD_END); end !== -1; end = received.indexOf(HEAD_END, from)) {
      from = end + HEAD_END.length
      socket.write(RESPONSE)
    }
    rest = received.slice(from)
  })
  socket.on('error', () => socket.destroy()) // a subject can end without closing its connections
})
announceListening(server)
