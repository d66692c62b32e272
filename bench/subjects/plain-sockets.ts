// The minimum cost of the runtime: a TCP relay on node:net. The relay parses nothing, so a request costs two reads and
// two writes.
import { connect, createServer } from 'node:net'
import { announceListening } from '../announce-listening.ts'

const { hostname, port } = new URL(String(process.env['BENCH_UPSTREAM']))

const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ host: hostname, port: Number(port), noDelay: true })
  client.on('data', (bytes) => upstream.write(bytes))
  upstream.on('data', (bytes) => client.write(bytes))
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on('error', () => undefined) // the event 'close' follows
    one.on('close', () => other.destroy())
  }
})
announceListening(server)
