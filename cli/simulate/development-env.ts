import { readGatewayFile } from '../../gateway/config/read-gateway-file.ts'
import { collectProblems } from '../../platform/diagnostics/collect-problems.ts'
import type { Terminal } from '../terminal.ts'

const LOCAL_HOST = '127.0.0.1'

/**
 * Returns the environment with the base URL of `scopegate dev`, which uses the port of PORT. Applies only to a
 * configuration whose base URL is the listen address on this machine. Every other base URL is independent of PORT.
 */
export function developmentEnv({ PORT, ...env }: Terminal['env'], configDir: string): Terminal['env'] {
  const given = { ...env, PORT }
  if (PORT === undefined || !/^[1-9]\d{0,4}$/.test(PORT)) return given
  const file = collectProblems().attempt(() => readGatewayFile({ configDir, env }))?.value
  if (file === undefined || file.listen.host !== LOCAL_HOST) return given
  if (file.baseUrl !== `http://${LOCAL_HOST}:${file.listen.port}`) return given
  const baseUrl = `http://${LOCAL_HOST}:${PORT}`
  const isIssuer = file.issuers[0]?.issuer === file.baseUrl
  return {
    SCOPEGATE_BASE_URL: baseUrl,
    ...(isIssuer ? { SCOPEGATE_ISSUERS__0__ISSUER: baseUrl } : {}),
    ...given,
  }
}
