import t from 'tap'
import type { ConnectionPool } from '../../../gateway/upstreams/http1/connection-pool.ts'
import type { DispatchHandler } from '../../../gateway/upstreams/http1/dispatch.ts'
import { readResponse } from '../../../gateway/upstreams/read-response.ts'

const CONTROLLER = { pause() {}, resume() {}, abort() {} }

/** Reads a response. Overwrites each chunk as soon as the reader has received it. */
function read(texts: readonly string[], limitBytes: number) {
  let handler: DispatchHandler | undefined
  const pool = {
    dispatch(_request: unknown, given: DispatchHandler) {
      handler = given
      return CONTROLLER
    },
  }
  const response = readResponse(pool as unknown as ConnectionPool, {
    path: '/',
    headers: [],
    timeoutMs: 20_000,
    limitBytes,
  })
  handler?.onResponseStart(CONTROLLER, 200, {})
  for (const text of texts) {
    const chunk = Buffer.from(text)
    handler?.onResponseData(CONTROLLER, chunk)
    chunk.fill('x')
  }
  handler?.onResponseEnd()
  return response
}

t.test('readResponse() keeps no chunk of a body, because many small chunks take much memory', async (t) => {
  t.equal(String((await read(['a', 'b', 'cc'], 4)).body), 'abcc')
  t.equal((await read(['a', 'b', 'ccc'], 4)).body, undefined)
})
