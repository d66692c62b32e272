// The minimum cost of the runtime: an HTTP server of Node.js with an upstream client for this traffic only. The server
// forwards GET requests and complete responses with a content-length. Any other traffic ends the process.
import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { announceListening } from '../announce-listening.ts'

const upstream = new URL(String(process.env['BENCH_UPSTREAM']))
const HEAD_END = '\r\n\r\n'
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'host', 'content-length'])
const idle: Upstream[] = []

class Upstream {
  readonly socket: Socket
  waiting: ServerResponse | undefined
  received = ''

  constructor() {
    this.socket = connect({ host: upstream.hostname, port: Number(upstream.port), noDelay: true })
    this.socket.setEncoding('latin1')
    this.socket.on('data', (text: string) => this.take(text))
    this.socket.on('close', () => process.exit(1))
  }

  send(head: string, response: ServerResponse): void {
    this.waiting = response
    this.socket.write(head, 'latin1')
  }

  take(text: string): void {
    this.received = this.received === '' ? text : this.received + text
    const headEnd = this.received.indexOf(HEAD_END)
    if (headEnd === -1) return
    const lines = this.received.slice(0, headEnd).split('\r\n')
    const headers: string[] = []
    let length = Number.NaN
    for (let index = 1; index < lines.length; index++) {
      const line = lines[index] ?? ''
      const colon = line.indexOf(':')
      const name = line.slice(0, colon)
      const lowerCased = name.toLowerCase()
      if (lowerCased === 'content-length') length = Number(line.slice(colon + 1))
      if (!HOP_BY_HOP.has(lowerCased)) headers.push(name, line.slice(colon + 1).trim())
    }
    const body = this.received.slice(headEnd + HEAD_END.length)
    if (Number.isNaN(length) || body.length > length)
      throw new Error('the floor received an unsupported response')
    if (body.length < length) return
    headers.push('content-length', String(length))
    this.received = ''
    this.waiting?.writeHead(Number(lines[0]?.slice(9, 12)), headers)
    this.waiting?.end(body, 'latin1')
    this.waiting = undefined
    idle.push(this)
  }
}

const server = createServer((request, response) => {
  if (request.method !== 'GET') throw new Error('the floor received an unsupported request')
  let head = `GET ${request.url} HTTP/1.1\r\nHost: ${upstream.host}\r\n`
  const raw = request.rawHeaders
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    if (!HOP_BY_HOP.has(name.toLowerCase())) head += `${name}: ${raw[index + 1]}\r\n`
  }
  const client = idle.pop() ?? new Upstream()
  client.send(`${head}\r\n`, response)
})
announceListening(server)
