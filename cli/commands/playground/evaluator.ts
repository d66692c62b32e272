import { once } from 'node:events'
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Evaluation, PlaygroundInput } from './evaluate.ts'

const MAX_WAITING = 8
const MEMORY_MB = 256

export type Evaluator = {
  /** Evaluates the input, or returns the reason why it did not. Never rejects. */
  evaluate(input: PlaygroundInput): Promise<Evaluation | { readonly stopped: string }>
  close(): Promise<void>
}

/**
 * Evaluates untrusted texts in a thread with limits of time and memory, one text after the other.
 * @param limitMs time for one text.
 */
export function createEvaluator(limitMs: number): Evaluator {
  let thread: Promise<Worker> | undefined
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0

  async function run(input: PlaygroundInput): ReturnType<Evaluator['evaluate']> {
    const timer = new AbortController()
    let end: NodeJS.Timeout | undefined
    try {
      thread ??= startThread()
      const worker = await thread
      end = setTimeout(() => timer.abort(), limitMs)
      worker.postMessage(input)
      const [evaluation] = await once(worker, 'message', { signal: timer.signal })
      return evaluation as Evaluation
    } catch (error) {
      const failed = thread
      thread = undefined
      await (await failed?.catch(() => undefined))?.terminate()
      if (timer.signal.aborted)
        return { stopped: `The check takes longer than ${limitMs / 1_000} seconds, so it was stopped.` }
      return { stopped: `The check failed: ${error instanceof Error ? error.message : String(error)}` }
    } finally {
      clearTimeout(end)
    }
  }

  return {
    async evaluate(input) {
      if (waiting >= MAX_WAITING) return { stopped: 'Too many checks are waiting. Try again.' }
      waiting += 1
      const result = last.then(() => run(input))
      last = result.catch(() => undefined)
      try {
        return await result
      } finally {
        waiting -= 1
      }
    },
    async close() {
      await (await thread?.catch(() => undefined))?.terminate()
    },
  }
}

/** Starts a thread without environment variables, and waits until its modules are loaded. */
async function startThread(): Promise<Worker> {
  const file = join(import.meta.dirname, `evaluation-thread${extname(import.meta.filename)}`)
  const worker = new Worker(file, {
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
  })
  await once(worker, 'message')
  return worker
}
