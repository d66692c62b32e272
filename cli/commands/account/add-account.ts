import { resolve } from 'node:path'
import { addAccount } from '../../../authorization-server/accounts/add-account.ts'
import { readAuthorizationServerConfig } from '../../../authorization-server/config.ts'
import { auditAccount } from '../../../authorization-server/observe/observe-events.ts'
import { findConfigDir } from '../../../platform/config/config-dir.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { dataFolder } from '../../find-folders.ts'

const MAX_PASSWORD_BYTES = 4096

/**
 * Adds an account. Reads the password from standard input, so that it is absent from the command line and the shell
 * history.
 * @returns the exit code: 0 added, 1 rejected, with the reason on standard error.
 * @throws {BootError} when the configuration is invalid or the store cannot be opened.
 */
export async function accountAdd(
  username: string,
  options: {
    readonly config?: string | undefined
    readonly data?: string | undefined
    readonly email?: string | undefined
    readonly 'full-name'?: string | undefined
    readonly json?: boolean | undefined
  },
): Promise<number> {
  const configDir = options.config === undefined ? findConfigDir(process.env) : resolve(options.config)
  const env = { ...process.env, ...dataFolder(options, process.env, process.cwd()) }
  const { config } = readAuthorizationServerConfig({ configDir, env })
  if (process.stdin.isTTY)
    process.stderr.write(`Password for ${username} (visible while you type; a pipe is safer): `)
  const password = await readFirstLine()

  const result = await addAccount({
    config,
    account: {
      username,
      password,
      ...(options['full-name'] === undefined ? {} : { name: options['full-name'] }),
      ...(options.email === undefined ? {} : { email: options.email }),
    },
    nowSeconds: () => Math.floor(Date.now() / 1000),
  })
  if ('rejected' in result) {
    process.stderr.write(`scopegate: ${result.message}\n`)
    return 1
  }
  auditAccount(
    createLogger({ level: 'info', service: 'scopegate' }, process.stderr),
    'account_added',
    result.added,
    'operator',
  )
  const { username: added } = result.added
  const kept = { sqlite: config.dataDir, redis: 'Redis', postgres: 'PostgreSQL' }[config.store.type]
  process.stdout.write(
    options.json === true
      ? `${JSON.stringify({ username: added, kept }, undefined, 2)}\n`
      : `scopegate: ${added} can sign in now (stored in ${kept}).\n`,
  )
  return 0
}

async function readFirstLine(): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) {
    text += chunk
    if (text.includes('\n') || text.length > MAX_PASSWORD_BYTES) break
  }
  process.stdin.destroy()
  return text.split(/\r?\n/, 1)[0] ?? ''
}
