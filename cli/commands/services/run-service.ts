import type { ParsedArguments } from '../../command.ts'
import { findConfigFolder, noteShippedConfig } from '../../find-folders.ts'
import type { Terminal } from '../../terminal.ts'

/** Starts one service in this process. The entry file of the service reads the configuration and handles signals. */
export async function runService(
  service: 'gateway' | 'authorization-server',
  given: Pick<ParsedArguments, 'text'>,
  terminal: Terminal,
): Promise<undefined> {
  const found = findConfigFolder(`${service}.yaml`, given, terminal)
  noteShippedConfig(found, terminal, service === 'gateway')
  process.env['SCOPEGATE_CONFIG_DIR'] = found.configDir
  if (service === 'gateway') await import('../../../gateway/main.ts')
  else await import('../../../authorization-server/main.ts')
  return undefined
}
