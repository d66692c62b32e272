/** Nobody can say whether a token is good: no reason to refuse it, and none to let it in. The message holds no token. */
export abstract class UnverifiableError extends Error {
  abstract readonly code: string
}
