import { LOCAL_SIGN_IN_OFF } from '../../../authorization-server/accounts/accounts.ts'
import { addAccount } from '../../../authorization-server/accounts/add-account.ts'
import { auditAccount } from '../../../authorization-server/observe/observe-events.ts'
import { createAuditLog } from '../../../platform/logging/audit-log.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import type { ParsedArguments } from '../../command.ts'
import { readServerConfig } from '../../read-server-config.ts'
import { readPassword, type Terminal } from '../../terminal.ts'

/**
 * Adds an account. Reads the password from standard input, so that it is absent from the command line and the shell
 * history.
 * @returns the exit code: 0 added, 1 rejected, with the reason on standard error.
 * @throws {BootError} when the configuration is invalid or the store cannot be opened.
 */
export async function accountAdd(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const config = readServerConfig(given, terminal)
  if (!config.signIn.local) {
    terminal.err.write(`scopegate: ${LOCAL_SIGN_IN_OFF}\n`)
    return 1
  }
  const [username = ''] = given.positionals
  const password = await readPassword(username, terminal)
  const [name, email] = [given.text('full-name'), given.text('email')]

  const result = await addAccount({
    config,
    account: {
      username,
      password,
      ...(name === undefined ? {} : { name }),
      ...(email === undefined ? {} : { email }),
    },
    nowSeconds: () => Math.floor(Date.now() / 1000),
  })
  if ('rejected' in result) {
    terminal.err.write(`scopegate: ${result.message}\n`)
    return 1
  }
  auditAccount(
    createAuditLog(createLogger({ level: 'info', service: 'scopegate' }, terminal.err)),
    'account_added',
    result.added,
    'operator',
  )
  const { username: added } = result.added
  const kept = { sqlite: config.dataDir, redis: 'Redis', postgres: 'PostgreSQL' }[config.store.type]
  terminal.out.write(
    given.has('json')
      ? `${JSON.stringify({ username: added, kept }, undefined, 2)}\n`
      : `scopegate: ${added} can sign in now (stored in ${kept}).\n`,
  )
  return 0
}
