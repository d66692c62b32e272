/** Whether Redis itself answered with an error: the connection is well. By the name of ioredis' class, which need not be loaded for that. */
export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}

/** The first word of an error of Redis: its code, such as `OOM` or `READONLY`. */
export function replyCode(error: Error): string {
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR'
}
