/** Error for a failed start. The message says what happened and what to do, in one line for a terminal. */
export class StartError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'StartError'
    this.code = code
  }
}
