import { DEVELOPMENT_ACCOUNTS } from '../../../authorization-server/accounts/sync-development-accounts.ts'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import type { Terminal } from '../../terminal.ts'
import { usageError } from '../../usage-error.ts'
import type { ParsedArguments } from '../../verb.ts'
import { obtainToken } from './obtain-token.ts'

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/** Gets a token from a development server and prints it. @returns the exit code that the help documents. */
export async function token(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const baseUrl = readBaseUrl(given.text('url') ?? `http://127.0.0.1:${terminal.env['PORT'] ?? '8080'}`)
  const scope = given.texts('scope').join(' ')
  if (scope === '') throw usageError('token', 'name the scopes: --scope courses:read')
  const username = given.text('sub') ?? 'alice'
  const account = DEVELOPMENT_ACCOUNTS.find((one) => one.username === username)
  if (account === undefined) throw usageError('token', `unknown development account: ${username}`)
  const issued = await obtainToken({ baseUrl, scope, account })
  terminal.out.write(
    given.has('json') ? `${JSON.stringify(issued, undefined, 2)}\n` : `${issued.access_token}\n`,
  )
  return 0
}

/** The passwords are public, so they are sent only to this machine. */
function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !LOOPBACK.test(url.hostname))
    throw new BootError(
      'ERR_TOKEN_NOT_LOCAL',
      `scopegate token: ${text} is not an address of this machine. The command gets tokens only from \`scopegate dev\` on this machine.`,
    )
  return url.origin
}
