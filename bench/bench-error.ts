/** Ends a benchmark without a result. `code` names the kind of failure. */
export class BenchError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'BenchError'
    this.code = code
  }
}
