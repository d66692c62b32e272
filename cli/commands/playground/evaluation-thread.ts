import { parentPort } from 'node:worker_threads'
import { evaluate, type PlaygroundInput } from './evaluate.ts'

// The entry of the thread that evaluates untrusted texts. The main thread can end this thread at any time.
parentPort?.on('message', async (input: PlaygroundInput) => {
  parentPort?.postMessage(await evaluate(input, Math.floor(Date.now() / 1_000)))
})
parentPort?.postMessage('ready')
