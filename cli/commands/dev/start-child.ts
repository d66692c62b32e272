import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'

/** Listen addresses of a program. The demo API has no management port. */
export type ChildAddresses = { readonly url: string; readonly managementUrl: string | undefined }

export type Child = {
  readonly name: string
  /** Resolves with the listen addresses. Rejects when the program exits before it listens. */
  readonly ready: Promise<ChildAddresses>
  /** Resolves with the exit code, or with undefined when a signal ended the program. */
  readonly ended: Promise<number | undefined>
  stop(): void
}

/**
 * Starts a program of this package in its own process. `module` is the path of the program in the source folder,
 * without the file extension. `onLine` receives each line of standard output. Standard error is inherited.
 */
export function startChild(options: {
  readonly name: string
  readonly module: string
  readonly env: Readonly<Record<string, string>>
  /** Variables of this process's environment that the program does not inherit. */
  readonly without: ReadonlySet<string>
  readonly onLine: (line: string) => void
}): Child {
  // A checkout runs the TypeScript sources, and the installed package contains compiled files.
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
