/** Whether an error is a response of Redis, on a connection that works. Compares names, so that ioredis need not be loaded. */
export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}

/** The first word of an error of Redis: its code, such as `OOM` or `READONLY`. */
export function replyCode(error: Error): string {
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR'
}
