import { setTimeout as wait } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'
import { BootError, ConfigError } from '../diagnostics/boot-error.ts'
import { errorCode } from '../diagnostics/error-code.ts'
import type { Logger } from '../logging/logger.ts'
import { optionalCheck, type ReadinessCheck } from '../ops/ops-server.ts'
import { readSecretText } from './read-secret-file.ts'

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
  /**
   * Follows a file. `check()` of the result reads the file immediately. Concurrent calls share one read. If the file
   * system does not respond, `check()` ends after two seconds.
   */
  follow(secret: FollowedSecret): { check(): Promise<void> }
  /** Reads all files immediately. A timer of each file also reads this file regularly. */
  check(): Promise<void>
  /** Returns a degraded readiness check while a file is not usable, and no check otherwise. */
  checks(): readonly ReadinessCheck[]
  close(): void
}

/**
 * Interval between two reads of a file, and therefore the usual maximum delay until its new content is in use.
 * Milliseconds.
 */
const CHECK_EVERY_MS = 5_000
/**
 * Maximum duration of a read, as parts of 100 ms. Between two parts, the event loop receives the results of finished
 * system calls. With one timer, a busy process would report a file system that responds: after a long pause, the event
 * loop runs expired timers first.
 */
const READ_LIMIT_PARTS = 20
const PART_MS = 100

/**
 * Creates the followers of secret files. The followers read the files regularly and compare the content. The followers
 * therefore also find a change of a symbolic link, which Kubernetes uses. Content that is not usable changes nothing:
 * the active secret stays, and one log line states the reason.
 */
export function openSecretFiles(options: {
  /** Reads a file. Default: `readSecretText`. */
  readonly read?: (file: string) => Promise<string>
  readonly registry: Registry
  readonly logger: Pick<Logger, 'info' | 'error'>
}): SecretFiles {
  const { logger } = options
  const { read = readSecretText } = options
  const followers: { check(): Promise<void>; close(): void }[] = []
  const problems = new Map<string, { readonly file: string; readonly reason: string }>()
  const usable = new Gauge({
    name: 'scopegate_secret_file_usable',
    help: '1 while the content of the secret file is in use, 0 while the content is not usable and the earlier secret stays in use.',
    labelNames: ['setting'],
    registers: [options.registry],
  })

  function report({ setting, file }: FollowedSecret, { reason, remedy }: Problem): void {
    usable.set({ setting }, 0)
    // Logs a problem once, not again at each check that finds the same problem.
    if (problems.get(setting)?.reason === reason) return
    problems.set(setting, { file, reason })
    logger.error(
      { event: 'secret_unusable', setting, file, reason, remedy },
      'the new content of a secret file is not usable: the active secret stays',
    )
  }

  function use(secret: FollowedSecret, text: string): void {
    const { setting, file } = secret
    try {
      const fields = secret.apply(text)
      problems.delete(setting)
      usable.set({ setting }, 1)
      if (fields !== undefined)
        logger.info({ event: 'secret_reloaded', setting, file, ...fields }, 'secret reloaded from its file')
    } catch (error) {
      report(secret, describeUnusable(error, secret))
    }
  }

  function follow(secret: FollowedSecret): { check(): Promise<void> } {
    // If the file system does not respond, the read occupies a thread. Only one read of a file runs at a time.
    let reading: Promise<void> | undefined
    const readNow = (): Promise<void> =>
      (reading ??= read(secret.file)
        .then(
          (text) => use(secret, text),
          (error: unknown) => report(secret, describeUnreadable(errorCode(error), secret.setting)),
        )
        .finally(() => {
          reading = undefined
        }))
    const check = async (): Promise<void> => {
      const limit = new AbortController()
      if ((await Promise.race([readNow(), readLimit(limit.signal)])) === 'hangs')
        report(secret, describeUnreadable('the file system does not respond', secret.setting))
      limit.abort()
    }
    usable.set({ setting: secret.setting }, 1)
    const follower = { check, close: repeat(check).close }
    followers.push(follower)
    return follower
  }

  return {
    follow,
    check: async () => void (await Promise.all(followers.map((follower) => follower.check()))),
    checks: () => (problems.size === 0 ? [] : [optionalCheck('secret files', describeAll(problems))]),
    close() {
      for (const follower of followers) follower.close()
    },
  }
}

/**
 * Calls `check` every five seconds. Skips a call while the previous call is running, because a file system may not
 * respond.
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

/** Resolves with `hangs` when a read has taken too long, or with undefined after an abort. */
async function readLimit(signal: AbortSignal): Promise<'hangs' | undefined> {
  try {
    for (let part = 0; part < READ_LIMIT_PARTS; part += 1) await wait(PART_MS, undefined, { signal })
    return 'hangs'
  } catch {
    return undefined
  }
}

type Problem = { readonly reason: string; readonly remedy: string }

function describeUnusable(error: unknown, { setting, file }: FollowedSecret): Problem {
  const [diagnostic] = error instanceof ConfigError ? error.diagnostics : []
  if (diagnostic !== undefined)
    return { reason: diagnostic.message, remedy: diagnostic.hint ?? `correct the file in ${setting}` }
  const message =
    error instanceof BootError ? error.message : `the content is not usable (${errorCode(error)})`
  // The log line and the readiness check name the file and the setting themselves.
  const place = [`${file} (${setting}): `, `${file}: `].find((start) => message.startsWith(start)) ?? ''
  const reason = message.slice(place.length)
  return { reason, remedy: `correct the file in ${setting}, or restore the earlier content` }
}

function describeUnreadable(code: string, setting: string): Problem {
  return {
    reason: `the file cannot be read (${code})`,
    remedy: `write a file that this user may read to the path in ${setting}`,
  }
}

function describeAll(
  problems: ReadonlyMap<string, { readonly file: string; readonly reason: string }>,
): string {
  return [...problems.values()]
    .map(({ file, reason }) => `${file}: ${reason.replace(/\.$/, '')}: the earlier secret stays`)
    .join(', ')
}
