import { join } from 'node:path'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../../oauth/endpoints.ts'
import { chooseManagementPort } from './choose-port.ts'
import type { Child, ChildAddresses } from './start-child.ts'

export type StartedServices = Readonly<Record<'gateway' | 'authorizationServer' | 'demo', ChildAddresses>> & {
  /** The gateway's port plus 1010, if another program listens on that port. See `chooseManagementPort()`. */
  readonly takenManagementPort: number | undefined
}

/**
 * Starts the three programs and waits until each program listens. The gateway starts last: the other programs choose
 * free ports, and the gateway gets their addresses.
 */
export async function startAll(options: {
  readonly start: (name: string, module: string, env: Record<string, string>) => Child
  readonly port: number
  readonly baseUrl: string
  readonly dataDir: string
  /** undefined: gateway.yaml defines policy sources. */
  readonly policiesDir: string | undefined
  readonly secretFile: string
}): Promise<StartedServices> {
  const { start, baseUrl, dataDir, secretFile } = options
  // Each console has a link to the other console, so this port must be known before the first program starts.
  const management = await chooseManagementPort(options.port, process.env['SCOPEGATE_MANAGEMENT__PORT'])
  const [authorizationServer, demo] = await Promise.all([
    start('authorization server', 'authorization-server/main', {
      PORT: '0',
      SCOPEGATE_ISSUER: baseUrl,
      SCOPEGATE_MANAGEMENT__PORT: '0',
      ...linkTo(management.port === '0' ? undefined : `http://127.0.0.1:${management.port}`),
      SCOPEGATE_DRAIN__DELAY: '0s',
      SCOPEGATE_DATA_DIR: dataDir,
      SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: secretFile,
      SCOPEGATE_DEVELOPMENT: 'true',
    }).ready,
    start('demo API', 'examples/learning-platform/main', {
      LEARNING_PLATFORM_HOST: '127.0.0.1',
      LEARNING_PLATFORM_PORT: process.env['LEARNING_PLATFORM_PORT'] ?? '0',
      LEARNING_PLATFORM_DATABASE: join(dataDir, 'learning-platform.sqlite'),
      LEARNING_PLATFORM_GATEWAY_JWKS: `${baseUrl}/.well-known/scopegate/jwks.json`,
      LEARNING_PLATFORM_GATEWAY_ISSUER: baseUrl,
    }).ready,
  ])
  const gateway = await start('gateway', 'gateway/main', {
    PORT: String(options.port),
    SCOPEGATE_BASE_URL: baseUrl,
    SCOPEGATE_MANAGEMENT__PORT: management.port,
    ...linkTo(authorizationServer.managementUrl),
    ...(options.policiesDir === undefined ? {} : { SCOPEGATE_POLICIES: options.policiesDir }),
    SCOPEGATE_DRAIN__DELAY: '0s', // no load balancer reads readiness in `scopegate dev`
    SCOPEGATE_ISSUERS__0__ISSUER: baseUrl,
    SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: `${authorizationServer.url}${ENDPOINTS.introspection}`,
    SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: secretFile,
    SCOPEGATE_ISSUERS__0__REVOCATIONS: `${authorizationServer.url}${REVOCATION_STREAM_PATH}`,
    SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: demo.url,
    SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__URL: authorizationServer.url,
  }).ready
  return { gateway, authorizationServer, demo, takenManagementPort: management.taken }
}

/** With port 0, the address of a management port is unknown until the program listens. */
function linkTo(console: string | undefined): Record<string, string> {
  return console === undefined ? {} : { SCOPEGATE_MANAGEMENT__LINKED_CONSOLE: console }
}
