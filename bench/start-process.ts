import { type ChildProcess, spawn } from 'node:child_process'
import { BenchError } from './bench-error.ts'
import type { Cleanup } from './cleanup.ts'

const START_TIMEOUT_MS = 180_000 // enough for a gateway with several workers on a busy machine
const STOP_TIMEOUT_MS = 25_000 // more than `drain.grace`
const STDERR_KEPT_CHARACTERS = 4_000

/** A program to start, and its processors. */
export type StartOptions = {
  readonly name: string
  /** Program and arguments. */
  readonly command: readonly string[]
  /** Processors of the program, in the format of `taskset -c`. If undefined, the system selects the processors. */
  readonly cores: string | undefined
  readonly env?: Readonly<Record<string, string>>
  /** A file descriptor for the standard output. Without the descriptor, the system drops the output. */
  readonly stdout?: number
  readonly cleanup: Cleanup
}

export type BenchProcess = {
  readonly name: string
  readonly pid: number
  readonly child: ChildProcess
  /** Resolves when the program has ended for any reason. The text is the end of the standard error. */
  readonly ended: Promise<string>
  stop(): Promise<void>
}

/**
 * Starts a program as a separate process on the processors `cores`. `cleanup` ends the process.
 * @throws {BenchError} ERR_BENCH_START if the system cannot start the program.
 */
export function startProcess(options: StartOptions): BenchProcess {
  const pin = options.cores === undefined ? [] : ['taskset', '-c', options.cores]
  const [program = '', ...args] = [...pin, ...options.command]
  const child = spawn(program, args, {
    env: { ...plainEnvironment(), NODE_ENV: 'production', ...options.env },
    stdio: ['ignore', options.stdout ?? 'ignore', 'pipe', 'ipc'],
  })
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-STDERR_KEPT_CHARACTERS)
  })
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', () => resolve(complaints.trim()))
  })
  const stop = async (): Promise<void> => {
    if (child.pid === undefined) return
    child.kill('SIGTERM')
    const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(deadline)
  }
  options.cleanup.add(stop)
  if (child.pid === undefined)
    throw new BenchError('ERR_BENCH_START', `${options.name}: cannot run ${program}.`)
  return { name: options.name, pid: child.pid, child, ended, stop }
}

/**
 * Waits for the first message of a Node.js program, because the message means that the program is ready. Call this
 * function immediately after the start of the program.
 * @throws {BenchError} ERR_BENCH_START when the program ends first, or sends no message within three minutes.
 */
export function whenReady(started: BenchProcess): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const fail = (what: string): void => reject(new BenchError('ERR_BENCH_START', `${started.name} ${what}`))
    const deadline = setTimeout(
      () => fail(`sent no message for ${START_TIMEOUT_MS / 1000} s.`),
      START_TIMEOUT_MS,
    )
    started.child.once('message', (message) => {
      clearTimeout(deadline)
      resolve(Object(message))
    })
    started.ended.then((complaints) => {
      clearTimeout(deadline)
      fail(`ended before it was ready: ${complaints === '' ? 'it wrote no output' : complaints}`)
    })
  })
}

/**
 * Returns the environment without the variables that change the behavior of Scopegate or Node.js. Keeps the compile
 * cache of the tests, because it halves the CPU time of a start.
 */
function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(SCOPEGATE_|NODE_(?!COMPILE_CACHE$)|PORT$|REDIS_URL$)/.test(name),
  )
  return Object.fromEntries(kept)
}
