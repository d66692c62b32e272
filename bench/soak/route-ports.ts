// Node.js loads this file with `--import`. Connections to some ports go to other ports, which simulates the address
// translation of a router. SOAK_ROUTES: `port=other port`, separated by commas.
import { Socket, type SocketConnectOpts } from 'node:net'

const routes = new Map(
  (process.env['SOAK_ROUTES'] ?? '').split(',').map((route) => {
    const [from, to] = route.split('=').map(Number)
    return [from, to] as const
  }),
)
const connect = Socket.prototype.connect as (this: Socket, ...args: unknown[]) => Socket

Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [first] = args
  // `net.connect()` calls this method with a list that contains the options.
  if (Array.isArray(first)) first[0] = rerouted(first[0])
  else args[0] = rerouted(first)
  return connect.apply(this, args)
}

function rerouted(target: unknown): unknown {
  if (typeof target !== 'object' || target === null) return target
  const options = target as SocketConnectOpts & { readonly port?: number | string }
  const port = routes.get(Number(options.port))
  return port === undefined ? target : { ...options, port }
}
