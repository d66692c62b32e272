/**
 * Returns true for an error reply of Redis on a working connection. Compares names, so that ioredis need not be loaded.
 */
export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}

/** Returns the code of an error reply, which is its first word, such as `OOM` or `READONLY`. */
export function replyCode(error: Error): string {
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR'
}
