import type { ServerResponse } from 'node:http'

export type StreamListener = {
  /** Sends events. Before `begin()`, the listener buffers the events. */
  send(text: string): void
  /** Starts the response with the events in `start`. The buffered events follow. */
  begin(start: string): void
  /** Ends the response. Buffered events are still sent. */
  end(): void
}

/** Above this limit, the server closes the stream of the slow gateway. The gateway reconnects and resumes. */
const MAX_UNSENT_BYTES = 1_048_576
/**
 * During this time, the first events of a stream do not count as unsent. If the server closed the stream during a
 * replay, the gateway would need the complete replay again. Milliseconds.
 */
const START_LIMIT_MS = 60_000

/**
 * Creates a listener that writes `text/event-stream` to a response.
 * @param onCut called when the listener closes the stream because the peer reads too slowly.
 */
export function createStreamListener(response: ServerResponse, onCut: () => void): StreamListener {
  let buffered: string[] | undefined = []
  let ended = false
  /** Size of the first events of the stream. 0 after these events are sent or `START_LIMIT_MS` has passed. Bytes. */
  let startBytes = 0

  function write(text: string): void {
    if (text === '' || ended || response.destroyed) return
    if (response.writableLength > MAX_UNSENT_BYTES + startBytes) {
      response.destroy()
      onCut()
    } else response.write(text)
  }

  return {
    send(text) {
      if (buffered === undefined) write(text)
      else buffered.push(text)
    },
    begin(start) {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      startBytes = Buffer.byteLength(start)
      const countStart = (): void => {
        clearTimeout(timer)
        startBytes = 0
      }
      const timer = setTimeout(countStart, START_LIMIT_MS).unref()
      response.write(start, countStart)
      for (const text of buffered ?? []) response.write(text)
      buffered = undefined
      if (ended) response.end()
    },
    end() {
      ended = true
      if (buffered === undefined) response.end()
    },
  }
}
