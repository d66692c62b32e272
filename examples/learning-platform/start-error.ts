/** A failed start. The message is one line for a terminal, and tells the operator what happened and what to do. */
export class StartError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'StartError'
    this.code = code
  }
}
