/** Code of an error for arguments that the command cannot use. */
export const ERR_USAGE = 'ERR_USAGE'

/** Formats a usage error for standard error. With `--json`, as a JSON document. */
export function formatUsageError(message: string, isJson: boolean): string {
  return isJson ? `${JSON.stringify({ error: 'usage', message })}\n` : `${message}\n`
}
