import { unwatchFile, watchFile } from 'node:fs'
import type { Logger } from '../../platform/logging/logger.ts'
import { generateAssertionKey } from './assertion-key.ts'
import { type AssertionKeyRing, createAssertionKeyRing } from './assertion-key-ring.ts'
import { readAssertionKeys } from './read-assertion-keys.ts'

/** Twice what the document's `cache-control` allows upstreams to keep it. Milliseconds. */
const LEAD_MS = 600_000
/** Clocks of gateway and upstream may differ by this. Milliseconds. */
const SKEW_MS = 60_000
/** A generated key signs for a day. Milliseconds. */
const GENERATED_LIFE_MS = 86_400_000
/** A mounted secret that changed is noticed within this. Milliseconds. */
const LOOK_EVERY_MS = 5_000

/** The keys that sign right now; `close` ends their rotation. */
export type AssertionKeys = { readonly ring: AssertionKeyRing; close(): void }

/**
 * Opens the keys that sign assertions, and rotates them: those of `keyFile` when the file changes, generated ones every
 * day, unless workers share one. Generated keys live in memory, so several replicas need a file that all of them read.
 * @throws {ConfigError} C306 when the file is of no use at the start; later the keys in force stay, and the log says why.
 */
export function openAssertionKeys(options: {
  readonly keyFile: string | undefined
  /** A generated key that other processes sign with too, in PEM: it stays as long as they do. */
  readonly sharedKey: string | undefined
  readonly ttlSeconds: number
  readonly nowMs: () => number
  readonly logger: Logger
}): AssertionKeys {
  const { keyFile, sharedKey, nowMs, logger } = options
  const ring = createAssertionKeyRing({
    keys: keyFile === undefined ? [generateAssertionKey(sharedKey)] : readAssertionKeys(keyFile),
    leadMs: LEAD_MS,
    assertionLifeMs: options.ttlSeconds * 1_000 + SKEW_MS,
  })
  if (keyFile === undefined) {
    if (sharedKey !== undefined) return { ring, close: () => undefined }
    const rotate = (): void => ring.replace([generateAssertionKey()], nowMs())
    const timer = setInterval(rotate, GENERATED_LIFE_MS).unref()
    return { ring, close: () => clearInterval(timer) }
  }
  const reread = (): void => {
    try {
      ring.replace(readAssertionKeys(keyFile), nowMs())
      logger.info({ event: 'assertion_keys_changed', keys: ring.publishedKeys(nowMs()).length }, 'new keys')
    } catch (error) {
      logger.error({ event: 'assertion_keys_unusable', err: error }, 'the keys in force stay')
    }
  }
  // Asks for the file's time and follows links: a mounted secret is a link that is turned to another file.
  watchFile(keyFile, { interval: LOOK_EVERY_MS, persistent: false }, reread)
  return { ring, close: () => unwatchFile(keyFile, reread) }
}
