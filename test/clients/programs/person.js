import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Opens the URL in the browser of the person, who signs in and allows access.
 * @returns the URL of the redirect to the client.
 */
export async function signIn(url) {
  const { stdout } = await run(process.env.BROWSER, [String(url), '--no-redirect'])
  return new URL(stdout.trim())
}
