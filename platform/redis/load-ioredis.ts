import type { Redis } from 'ioredis'
import { isReplyError, replyCode } from './is-reply-error.ts'

type ReadInfo = (this: Redis, ...args: unknown[]) => Promise<string>

let loaded: ReturnType<typeof load> | undefined

/** Loads the client library. A process without Redis does not load the library. */
export function loadIoredis(): ReturnType<typeof load> {
  loaded ??= load()
  return loaded
}

/**
 * Before a connection is ready, ioredis calls `info()` to read whether the server has loaded its data. If the ACL
 * forbids `INFO`, ioredis prints a warning on standard error for each connection, and omits this check. An empty reply
 * omits the check without the warning. Only ioredis itself calls `info()` with a callback.
 */
async function load() {
  const { Redis, Cluster } = await import('ioredis')
  const readInfo = Redis.prototype.info as ReadInfo
  const info: ReadInfo = function (...args) {
    const callback = args.at(-1)
    if (typeof callback !== 'function') return readInfo.apply(this, args)
    const reply = readInfo.call(this).catch((error: unknown) => {
      if (isReplyError(error) && replyCode(error) === 'NOPERM') return ''
      throw error
    })
    reply.then(
      (text) => callback(null, text),
      (error: unknown) => callback(error),
    )
    return reply
  }
  Object.assign(Redis.prototype, { info })
  return { Redis, Cluster }
}
