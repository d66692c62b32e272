// startProbe() starts this thread. Sends one request after the other on a keep-alive connection until `stop()`.
import { Agent, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { ProbeResult } from './probe.ts'

const PAUSE_MS = 4

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const times: number[] = []
const failures: string[] = []
let stopping = false
parentPort?.on('message', () => {
  stopping = true
})

while (!stopping) {
  const startedMs = performance.now()
  const failure = await ask(String(workerData))
  times.push(performance.now() - startedMs)
  if (failure !== undefined) failures.push(failure)
  await wait(PAUSE_MS)
}
agent.destroy()
parentPort?.postMessage({ times, failures } satisfies ProbeResult)
parentPort?.close()

/** @returns the reason of the failure. Undefined after a complete response with status 200. */
function ask(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    get(url, { agent }, (response) => {
      response.resume()
      response.on('end', () =>
        resolve(response.statusCode === 200 ? undefined : `status ${response.statusCode}`),
      )
      response.on('error', (error) => resolve(error.message))
    }).on('error', (error) => resolve(error.message))
  })
}
