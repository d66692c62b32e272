import type { Cleanup } from '../cleanup.ts'

/** The pages of a browser that shows the overview and the list of decisions. */
const PAGES = ['/', '/console/decisions']

/** Opens the console of a gateway, and reads the live updates of two pages until the end of the measurement. */
export async function readConsole(
  managementUrl: string,
  cleanup: Cleanup,
): Promise<{ readonly updates: () => number }> {
  let updates = 0
  const stop = new AbortController()
  cleanup.add(() => stop.abort())
  for (const page of PAGES) {
    const address = new URL(page, managementUrl)
    address.searchParams.set('format', 'events')
    const response = await fetch(address, {
      headers: { accept: 'text/event-stream' },
      signal: stop.signal,
    })
    void countUpdates(response).catch(() => undefined) // the end of the measurement
  }

  async function countUpdates(response: Response): Promise<void> {
    const texts = response.body?.pipeThrough(new TextDecoderStream()) ?? []
    for await (const text of texts) updates += text.split('event: page').length - 1
  }
  return { updates: () => updates }
}
