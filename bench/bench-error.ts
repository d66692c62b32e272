/** A benchmark that could not be measured: `code` says which kind, the message what happened and what to do. */
export class BenchError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'BenchError'
    this.code = code
  }
}
