import { readFile } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import { BootError, ConfigError } from '../diagnostics/boot-error.ts'
import { errorCode } from '../diagnostics/error-code.ts'
import type { Logger } from '../logging/logger.ts'
import { optionalCheck, type ReadinessCheck } from '../ops/ops-server.ts'

/** A file with a secret that may change while the process runs. */
export type FollowedSecret = {
  /** Name of the setting with the path, for messages and the metric. */
  readonly setting: string
  readonly file: string
  /**
   * Uses the content of the file. Called at each check, also for the same content.
   * @returns fields for the log line, without secrets; undefined: the secret did not change.
   * @throws {BootError} when the content is not usable. The message must not contain the secret.
   */
  readonly apply: (text: string) => Readonly<Record<string, unknown>> | undefined
}

/** All files with secrets that a process follows. */
export type SecretFiles = {
  /** Follows a file. `check()` of the result reads the file immediately. Concurrent calls share one read. */
  follow(secret: FollowedSecret): { check(): Promise<void> }
  /** Reads all files immediately. A timer also calls this function regularly. */
  check(): Promise<void>
  /** Returns a degraded readiness check while a file is not usable, and no check otherwise. */
  checks(): readonly ReadinessCheck[]
  close(): void
}

/** Maximum delay until the new content of a file is in use. Milliseconds. */
const CHECK_EVERY_MS = 5_000

/**
 * Creates the followers of secret files. The followers read the files regularly and compare the content. They therefore
 * also find a change of a symbolic link, which Kubernetes uses.
 * Content that is not usable changes nothing: the active secret stays, and one log line states the reason.
 */
export function openSecretFiles(options: {
  readonly registry: Registry
  readonly logger: Pick<Logger, 'info' | 'error'>
}): SecretFiles {
  const { logger } = options
  const followers: { readonly setting: string; check(): Promise<void> }[] = []
  const problems = new Map<string, string>()
  const usable = new Gauge({
    name: 'scopegate_secret_file_usable',
    help: '1 while the content of the secret file is in use, 0 while it is not usable and the earlier secret stays.',
    labelNames: ['setting'],
    registers: [options.registry],
    aggregator: 'min', // 0 if the file is not usable in one of the workers
  })

  async function checkNow({ setting, file, apply }: FollowedSecret): Promise<void> {
    try {
      const fields = apply(await readFile(file, 'utf8'))
      problems.delete(file)
      usable.set({ setting }, 1)
      if (fields !== undefined)
        logger.info({ event: 'secret_reloaded', setting, file, ...fields }, 'secret reloaded from its file')
    } catch (error) {
      const { reason, remedy } = describeProblem(error, setting)
      usable.set({ setting }, 0)
      // Logs a problem once, not again at each check that finds the same problem.
      if (problems.get(file) === reason) return
      problems.set(file, reason)
      logger.error(
        { event: 'secret_unusable', setting, file, reason, remedy },
        'the new content of a secret file is not usable: the active secret stays',
      )
    }
  }

  function follow(secret: FollowedSecret): { check(): Promise<void> } {
    let checking: Promise<void> | undefined
    const follower = {
      setting: secret.setting,
      check: () =>
        (checking ??= checkNow(secret).finally(() => {
          checking = undefined
        })),
    }
    usable.set({ setting: secret.setting }, 1)
    followers.push(follower)
    return follower
  }

  const check = async (): Promise<void> => {
    await Promise.all(followers.map((follower) => follower.check()))
  }
  const polling = repeat(check)
  return {
    follow,
    check,
    checks: () => (problems.size === 0 ? [] : [optionalCheck('secret files', describeAll(problems))]),
    close: polling.close,
  }
}

/**
 * Calls `check` every five seconds. Skips a call while the previous call is running, because a file system can hang.
 */
export function repeat(check: () => Promise<void>): { close(): void } {
  let isChecking = false
  const timer = setInterval(async () => {
    if (isChecking) return
    isChecking = true
    await check()
    isChecking = false
  }, CHECK_EVERY_MS).unref()
  return { close: () => clearInterval(timer) }
}

function describeProblem(
  error: unknown,
  setting: string,
): { readonly reason: string; readonly remedy: string } {
  const [diagnostic] = error instanceof ConfigError ? error.diagnostics : []
  if (diagnostic !== undefined)
    return { reason: diagnostic.message, remedy: diagnostic.hint ?? `correct the file in ${setting}` }
  if (error instanceof BootError)
    return { reason: error.message, remedy: `correct the file in ${setting}, or restore the earlier content` }
  return {
    reason: `the file cannot be read (${errorCode(error)})`,
    remedy: `write a file that this user may read to the path in ${setting}`,
  }
}

function describeAll(problems: ReadonlyMap<string, string>): string {
  return [...problems].map(([file, reason]) => `${file}: ${reason}: the earlier secret stays`).join(', ')
}
