import { resolve } from 'node:path'
import { requireConfigDir } from '../../../platform/config/config-dir.ts'

/** Starts one service in this process. The entry file of the service reads the configuration and handles signals. */
export async function runService(
  service: 'gateway' | 'authorization-server',
  configDir: string | undefined,
): Promise<undefined> {
  if (configDir !== undefined)
    process.env['SCOPEGATE_CONFIG_DIR'] = requireConfigDir(resolve(configDir), '--config')
  if (service === 'gateway') await import('../../../gateway/main.ts')
  else await import('../../../authorization-server/main.ts')
  return undefined
}
