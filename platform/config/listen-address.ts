import { Type } from '../diagnostics/schema/schema-builder.ts'
import { FilePath, HttpAddress, PortNumber } from '../diagnostics/schema/value-schemas.ts'

const LISTEN_KEYS = {
  host: Type.String({ description: 'address to listen on', minLength: 1, maxLength: 255 }),
  port: PortNumber('port to listen on; with 0, the system selects a free port'),
}

export const ListenAddress = (description: string) => Type.Object(LISTEN_KEYS, { description })

const HostName = Type.String({
  description: 'an accepted host name',
  maxLength: 253,
  pattern: '^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$',
  'x-is': 'a host name without a port, such as gw-scopegate.gateways.svc',
})

const MANAGEMENT_KEYS = {
  ...LISTEN_KEYS,
  names: Type.Optional(
    Type.Array(HostName, {
      description: 'accepted host names, in addition to IP addresses, localhost and host',
      maxItems: 100,
      uniqueItems: true,
    }),
  ),
}

const MANAGEMENT = { description: 'address of the listener for /livez, /readyz and /metrics' }

const CONSOLE_KEYS = {
  ...MANAGEMENT_KEYS,
  console: Type.Optional(
    Type.Boolean({ description: 'whether the management port serves the console; default: true' }),
  ),
  linkedConsole: Type.Optional(
    HttpAddress('URL of the console of the other service, for a link on each page of the console'),
  ),
}

export const ConsoleAddress = Type.Object(CONSOLE_KEYS, MANAGEMENT)

export const PrivateConsoleAddress = Type.Object(
  {
    ...CONSOLE_KEYS,
    adminTokenFile: Type.Optional(
      FilePath(
        'file with the tokens for the sign-in to the console, one per line, newest first; without this file, the console shows no clients and no grants',
      ),
    ),
  },
  MANAGEMENT,
)

/**
 * A management port. The port accepts a request whose `Host` header is an IP address, `localhost`, `host` or one of
 * `names`. It also accepts a request without a `Host` header.
 */
export type ManagementAddress = {
  readonly host: string
  readonly port: number
  readonly names?: readonly string[] | undefined
}

/** A management port with a console. */
export type ConsoleAddress = ManagementAddress & {
  readonly console?: boolean | undefined
  /** URL of the console of the other service. */
  readonly linkedConsole?: string | undefined
}

/** A management port with a console that has private pages. */
export type PrivateConsoleAddress = ConsoleAddress & { readonly adminTokenFile?: string | undefined }
