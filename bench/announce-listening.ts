import type { Server } from 'node:net'
import { BenchError } from './bench-error.ts'

/**
 * Listens on a free port of the loopback interface. Reports the address to the benchmark that started this process.
 * The process ends when its connection to the benchmark closes.
 */
export function announceListening(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address !== 'object' || address === null)
      throw new BenchError('ERR_BENCH_START', 'no TCP address')
    process.send?.({ ready: true, url: `http://127.0.0.1:${address.port}` })
  })
  process.on('disconnect', () => process.exit(0))
}
