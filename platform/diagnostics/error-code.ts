/** Returns the code of an error, e.g. `ENOENT`. Without a code, returns `unknown error`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
