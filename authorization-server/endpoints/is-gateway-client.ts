import { hash, timingSafeEqual } from 'node:crypto'

/**
 * Creates a function that checks an `Authorization: Basic` header against the credentials of the gateway, in constant
 * time.
 * Source: RFC 7617.
 */
export function isGatewayClient(client: {
  readonly clientId: string
  readonly clientSecret: string
}): (authorization: string | undefined) => boolean {
  const expected = digest(`${client.clientId}:${client.clientSecret}`)
  return (authorization) => timingSafeEqual(digest(readBasic(authorization) ?? ''), expected)
}

function readBasic(authorization: string | undefined): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8')
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
