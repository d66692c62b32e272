import { join } from 'node:path'
import { AuthorizationServerFile } from '../../../authorization-server/authorization-server-file.ts'
import { readGatewayFile } from '../../../gateway/config/read-gateway-file.ts'
import { readConfig } from '../../../platform/config/read-config.ts'
import { ConfigError } from '../../../platform/diagnostics/boot-error.ts'

/** Prefix of a variable's name in the location of a diagnostic. */
const VARIABLE_PREFIX = /^environment variable /

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Finds, for each service, the variables of the environment that only the other service uses. In `scopegate dev`, both
 * services share one environment. Each service would report the variables of the other service as mistakes. For an
 * unreadable configuration, the result is empty, because the service reports the problems of its configuration.
 */
export function findForeignVariables(options: {
  readonly configDir: string
  readonly env: Environment
}): Readonly<Record<'gateway' | 'authorizationServer', ReadonlySet<string>>> {
  const { configDir, env } = options
  const gateway = unknownVariables(() => readGatewayFile({ configDir, env }))
  const authorizationServer = unknownVariables(() =>
    readConfig({ file: join(configDir, 'authorization-server.yaml'), schema: AuthorizationServerFile, env }),
  )
  return {
    gateway: gateway.difference(authorizationServer),
    authorizationServer: authorizationServer.difference(gateway),
  }
}

function unknownVariables(
  read: () => { readonly warnings: readonly { readonly location: { readonly file: string } }[] },
): Set<string> {
  try {
    return new Set(read().warnings.map((one) => one.location.file.replace(VARIABLE_PREFIX, '')))
  } catch (error) {
    if (error instanceof ConfigError) return new Set()
    throw error
  }
}
