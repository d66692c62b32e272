import { Type } from '../diagnostics/schema/schema-builder.ts'
import { FilePath, SecretText } from '../diagnostics/schema/value-schemas.ts'

const Address = (description: string) =>
  Type.String({
    description,
    maxLength: 300,
    pattern: '^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):[0-9]{1,5}$',
    'x-is': 'a host and a port such as redis-0.example.com:6379',
  })

const Addresses = (description: string) =>
  Type.Array(Address('host and port'), { description, minItems: 1, maxItems: 100, uniqueItems: true })

const UserName = (description: string) => Type.String({ description, minLength: 1, maxLength: 256 })

/** The settings of a connection to Redis or Valkey. Exactly one of `url`, `sentinel` and `cluster` is set. */
export const RedisConnectionSchema = (description: string) =>
  Type.Object(
    {
      url: Type.Optional(SecretText('URL of one server: redis://… or rediss://…')),
      sentinel: Type.Optional(
        Type.Object(
          {
            name: Type.String({
              description: 'name of the primary in the configuration of the Sentinels',
              minLength: 1,
              maxLength: 256,
            }),
            addresses: Addresses('addresses of the Sentinels'),
            username: Type.Optional(UserName('ACL user for the connections to the Sentinels')),
            passwordFile: Type.Optional(
              FilePath('file with the password for the connections to the Sentinels'),
            ),
          },
          { description: 'Sentinels that name the primary' },
        ),
      ),
      cluster: Type.Optional(
        Type.Object(
          { addresses: Addresses('addresses of some nodes; the cluster names the others') },
          { description: 'a Redis Cluster' },
        ),
      ),
      username: Type.Optional(UserName('ACL user')),
      passwordFile: Type.Optional(FilePath('file with the password, read again at each connection')),
      tls: Type.Optional(
        Type.Object(
          {
            caFile: Type.Optional(
              FilePath(
                'PEM file with the CA certificates; without this file, the public CA certificates apply',
              ),
            ),
            certFile: Type.Optional(FilePath('PEM file with the client certificate')),
            keyFile: Type.Optional(FilePath('PEM file with the key of the client certificate')),
          },
          { description: 'TLS to Redis and to Sentinels; with url, the URL begins with rediss://' },
        ),
      ),
    },
    { description },
  )

/** See {@link RedisConnectionSchema}. Paths are absolute. */
export type RedisConnection = {
  readonly url?: string
  readonly sentinel?: {
    readonly name: string
    readonly addresses: readonly string[]
    readonly username?: string
    readonly passwordFile?: string
  }
  readonly cluster?: { readonly addresses: readonly string[] }
  readonly username?: string
  readonly passwordFile?: string
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string }
}

export type RedisSetting = 'redis' | 'revocationRedis'

/** Splits `host:port`. An IPv6 address has brackets. */
export function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const at = address.lastIndexOf(':')
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) }
}
