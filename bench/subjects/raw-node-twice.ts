// The minimum cost of the runtime in two processes that share one port. node:cluster distributes connections
// round-robin, and the gateway distributes connections to its workers in the same way.
import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'

const PROCESSES = 2
let listening = 0

cluster.setupPrimary({ exec: fileURLToPath(new URL('./raw-node.ts', import.meta.url)) })
cluster.on('listening', (_worker, { port }) => {
  listening += 1
  if (listening === PROCESSES) process.send?.({ ready: true, url: `http://127.0.0.1:${port}` })
})
cluster.on('exit', () => process.exit(1))
for (let count = 0; count < PROCESSES; count++) cluster.fork()
process.on('disconnect', () => process.exit(0))
