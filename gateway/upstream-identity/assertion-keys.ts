import { readSecretText } from '../../platform/config/read-secret-file.ts'
import { repeat } from '../../platform/config/secret-files.ts'
import { errorCode } from '../../platform/diagnostics/error-code.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import {
  type AssertionKey,
  generateAssertionKey,
  parseAssertionKeys,
  readAssertionKeys,
  unreadableKeys,
} from './assertion-key.ts'
import { type AssertionKeyRing, createAssertionKeyRing } from './assertion-key-ring.ts'

/** Twice the time for which the `cache-control` header of the key document permits caching. Milliseconds. */
const LEAD_MS = 600_000
/** Maximum clock skew between gateway and upstream. Milliseconds. */
const SKEW_MS = 60_000
/** Signing period of a generated key: one day. Milliseconds. */
const GENERATED_LIFE_MS = 86_400_000

/** The current assertion keys. `close` stops the rotation of the keys. */
export type AssertionKeys = { readonly ring: AssertionKeyRing; close(): void }

/**
 * Opens the keys that sign assertions, and rotates the keys. With `keyFile`, the keys rotate when the file changes.
 * Without `keyFile`, the gateway generates a key and rotates this key every day. A `sharedKey` never rotates. Generated
 * keys exist only in memory. Several replicas therefore need a `keyFile` that all replicas read.
 * @throws {ConfigError} C306 when the file is not usable at startup. After startup, an unusable file is logged and the
 * current keys stay active.
 */
export function openAssertionKeys(options: {
  readonly keyFile: string | undefined
  /** A generated key in PEM with which other processes also sign. This key never rotates. */
  readonly sharedKey: string | undefined
  readonly ttlSeconds: number
  readonly nowMs: () => number
  readonly logger: Logger
}): AssertionKeys {
  const { keyFile, sharedKey, nowMs, logger } = options
  const initial = keyFile === undefined ? [generateAssertionKey(sharedKey)] : readAssertionKeys(keyFile)
  const ring = createAssertionKeyRing({
    keys: initial,
    leadMs: LEAD_MS,
    assertionLifeMs: options.ttlSeconds * 1_000 + SKEW_MS,
  })
  if (keyFile === undefined) {
    if (sharedKey !== undefined) return { ring, close: () => undefined }
    const rotate = (): void => ring.replace([generateAssertionKey()], nowMs())
    const timer = setInterval(rotate, GENERATED_LIFE_MS).unref()
    return { ring, close: () => clearInterval(timer) }
  }
  let active = idsOf(initial)
  let lastProblem: string | undefined
  const polling = repeat(async () => {
    try {
      const keys = await readCurrent(keyFile)
      lastProblem = undefined
      if (idsOf(keys) === active) return
      active = idsOf(keys)
      ring.replace(keys, nowMs())
      logger.info(
        { event: 'assertion_keys_changed', keys: ring.publishedKeys(nowMs()).length },
        'assertion keys reloaded',
      )
    } catch (error) {
      // Logs a problem once, not again at each check that finds the same problem.
      if (String(error) === lastProblem) return
      lastProblem = String(error)
      logger.error(
        { event: 'assertion_keys_unusable', err: error },
        'assertion.keyFile is not usable: the active keys stay in use',
      )
    }
  })
  return { ring, close: polling.close }
}

async function readCurrent(file: string): Promise<readonly AssertionKey[]> {
  const text = await readSecretText(file).catch((error: unknown) => {
    throw unreadableKeys(file, `the file cannot be read (${errorCode(error)})`)
  })
  return parseAssertionKeys(text, file)
}

function idsOf(keys: readonly AssertionKey[]): string {
  return keys.map(({ kid }) => kid).join(' ')
}
