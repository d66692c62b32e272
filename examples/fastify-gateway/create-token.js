// Creates a key of the issuer https://issuer.example, writes its public part to the folder config, and prints an access
// token with the scopes of the arguments. In production, an authorization server issues the tokens.
import { generateKeyPairSync, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = { ...publicKey.export({ format: 'jwk' }), kid: 'example', alg: 'ES256', use: 'sig' }
writeFileSync(join(import.meta.dirname, 'config', 'keys.json'), JSON.stringify({ keys: [key] }))

const now = Math.floor(Date.now() / 1_000)
const header = { alg: 'ES256', typ: 'at+jwt', kid: 'example' }
const claims = {
  iss: 'https://issuer.example',
  aud: 'http://127.0.0.1:8080',
  sub: 'user-1',
  client_id: 'client-1',
  scope: process.argv.slice(2).join(' '),
  iat: now,
  exp: now + 3_600,
  jti: crypto.randomUUID(),
}
const input = [header, claims]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.')
const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
console.log(`${input}.${signature.toString('base64url')}`)
