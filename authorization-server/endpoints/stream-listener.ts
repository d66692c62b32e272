import type { ServerResponse } from 'node:http'

/** One gateway that listens. */
export type StreamListener = {
  /** Held back until the answer has begun. */
  send(text: string): void
  /** Begins the answer with these events, and what was held back behind them. */
  begin(start: string): void
  /** What was held back is still told. */
  end(): void
}

const MOST_UNSENT_BYTES = 1_048_576 // who does not read is cut, and asks for the rest when it comes back

/** Writes a `text/event-stream` to a response. `onCut` is told when it ends because nobody reads it. */
export function createStreamListener(response: ServerResponse, onCut: () => void): StreamListener {
  let held: string[] | undefined = []
  let ended = false

  function write(text: string): void {
    if (text === '' || ended || response.destroyed) return
    if (response.writableLength > MOST_UNSENT_BYTES) {
      response.destroy()
      onCut()
    } else response.write(text)
  }

  return {
    send(text) {
      if (held === undefined) write(text)
      else held.push(text)
    },
    begin(start) {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      response.write(start)
      for (const text of held ?? []) response.write(text)
      held = undefined
      if (ended) response.end()
    },
    end() {
      ended = true
      if (held === undefined) response.end()
    },
  }
}
