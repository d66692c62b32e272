import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from '../cleanup.ts'

/** Starts an OTLP receiver that accepts all spans and only counts the exports. */
export async function startSpanReceiver(
  cleanup: Cleanup,
): Promise<{ readonly url: string; exports(): number }> {
  let exports = 0
  const server = createServer((request, response) => {
    exports += 1
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanup.add(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, exports: () => exports }
}

/** Returns the settings of a gateway that sends a share of its traces to a receiver. */
export function tracingSettings(receiverUrl: string, sampleRatio: number): Readonly<Record<string, string>> {
  return {
    SCOPEGATE_TRACING__ENDPOINT: receiverUrl,
    SCOPEGATE_TRACING__SAMPLE_RATIO: String(sampleRatio),
  }
}
