import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'

/** Where a program listens; the demo API has no management port. */
export type ChildAddresses = { readonly url: string; readonly managementUrl: string | undefined }

/** One of the programs that `scopegate dev` runs. */
export type Child = {
  readonly name: string
  /** Resolves with the addresses it listens on, rejects when it ends before it listens. */
  readonly ready: Promise<ChildAddresses>
  /** Resolves with the exit code, or undefined when a signal ended it. */
  readonly ended: Promise<number | undefined>
  stop(): void
}

/**
 * Starts a program of this package (its path from the package's source root, without the ending) in a process of its own.
 * Its standard output goes to `onLine`, line by line; what it says on standard error is shown as it is.
 */
export function startChild(options: {
  readonly name: string
  readonly module: string
  readonly env: Readonly<Record<string, string>>
  /** Variables of this process's environment that it does not get. */
  readonly without: ReadonlySet<string>
  readonly onLine: (line: string) => void
}): Child {
  // In a checkout the sources run as they are; in the installed package they were compiled.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const file = fileURLToPath(new URL(`../../../${options.module}.${ending}`, import.meta.url))
  const inherited = Object.entries(process.env).filter(([variable]) => !options.without.has(variable))
  const child = fork(file, {
    env: { ...Object.fromEntries(inherited), ...options.env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', options.onLine)

  const ended = new Promise<number | undefined>((resolve) =>
    child.on('exit', (code) => resolve(code ?? undefined)),
  )
  return {
    name: options.name,
    ready: whenReady(child, options.name),
    ended,
    stop: () => void child.kill('SIGTERM'),
  }
}

function whenReady(child: ChildProcess, name: string): Promise<ChildAddresses> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: unknown) => {
      if (typeof message !== 'object' || message === null || !('ready' in message) || !('url' in message))
        return
      const managementUrl = 'managementUrl' in message ? String(message.managementUrl) : undefined
      resolve({ url: String(message.url), managementUrl })
    })
    child.on('error', (error) =>
      reject(new BootError('ERR_CHILD', `${name} does not start: ${error.message}`)),
    )
    child.on('exit', (code, signal) =>
      reject(
        new BootError(
          'ERR_CHILD_ENDED',
          `${name} did not start (${signal ?? `exit code ${code}`}); its message is above.`,
          { exitCode: code === 3 ? 3 : 1 },
        ),
      ),
    )
  })
}
