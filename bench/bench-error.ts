/** Error of a benchmark that could not be measured. `code` is the kind of failure. The message says what to do. */
export class BenchError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'BenchError'
    this.code = code
  }
}
