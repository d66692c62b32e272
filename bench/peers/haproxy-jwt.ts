import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import { BenchError } from '../bench-error.ts'
import { findProgram } from '../find-program.ts'
import { startProcess } from '../start-process.ts'
import type { Subject } from '../subject.ts'
import { waitForPort } from '../wait-for-port.ts'
import type { PeerOptions } from './peer-options.ts'

export type Algorithm = 'RS256' | 'ES256'

const TOKEN_LIFETIME_SECONDS = 3_600

/**
 * Starts HAProxy with one thread. HAProxy verifies the signature and the expiry of a JWT on every request. HAProxy
 * writes no log and checks no scopes.
 * @returns undefined if HAProxy is not installed.
 * @throws {BenchError} ERR_BENCH_START if HAProxy does not start, or accepts a token with an invalid signature.
 */
export async function startHaproxyJwt(
  options: PeerOptions & { readonly algorithm: Algorithm },
): Promise<Subject | undefined> {
  const { algorithm, cores, upstream, cleanup } = options
  const program = findProgram('haproxy')
  if (program === undefined) return undefined
  const port = await findFreePort('127.0.0.1')
  const folder = join(options.folder, `haproxy-${algorithm}`)
  mkdirSync(folder)
  const keys = makeKeys(algorithm)
  const keyFile = join(folder, 'key.pem')
  writeFileSync(keyFile, keys.publicKey.export({ type: 'spki', format: 'pem' }))
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, configuration({ port, algorithm, keyFile, upstream }))

  const name = `${version(program)}, jwt_verify ${algorithm}`
  const started = startProcess({ name, command: [program, '-db', '-f', file], cores, cleanup })
  await waitForPort(started, port)
  const token = await sign(keys.privateKey, algorithm)
  const url = new URL(new URL(options.target.url).pathname, `http://127.0.0.1:${port}`).href
  const headers = { ...options.target.headers, authorization: `Bearer ${token}` }
  await verifyRejectsBrokenSignature(name, url, token)
  return { name, process: started, core: cores, target: { ...options.target, url, headers } }
}

function makeKeys(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  return algorithm === 'RS256'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function sign(key: KeyObject, algorithm: Algorithm): Promise<string> {
  return new SignJWT({ scope: 'courses:read', client_id: 'bench' })
    .setProtectedHeader({ alg: algorithm, typ: 'at+jwt' })
    .setIssuer('https://issuer.example')
    .setSubject('alice')
    .setAudience('https://api.example')
    .setIssuedAt()
    .setExpirationTime(`${TOKEN_LIFETIME_SECONDS}s`)
    .sign(key)
}

/** The figures of a peer that accepts an invalid signature are not comparable. */
async function verifyRejectsBrokenSignature(name: string, url: string, token: string): Promise<void> {
  const broken = token.replace(/[^.]+$/, (signature) => [...signature].toReversed().join(''))
  const { status } = await fetch(url, { headers: { authorization: `Bearer ${broken}` } })
  if (status !== 401)
    throw new BenchError('ERR_BENCH_START', `${name} returned ${status} for an invalid signature`)
}

function configuration(own: {
  port: number
  algorithm: Algorithm
  keyFile: string
  upstream: string
}): string {
  return `global
  nbthread 1
  maxconn 1024
defaults
  mode http
  timeout connect 5s
  timeout client 10m
  timeout server 10m
frontend in
  bind 127.0.0.1:${own.port}
  http-request set-var(txn.bearer) http_auth_bearer
  http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')
  http-request set-var(txn.exp) var(txn.bearer),jwt_payload_query('$.exp','int')
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 unless { var(txn.alg) -m str ${own.algorithm} }
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_verify(txn.alg,"${own.keyFile}") -m int 1 }
  http-request deny deny_status 401 if { var(txn.exp),sub(txn.now) -m int lt 0 }
  default_backend behind
backend behind
  http-reuse always
  server behind ${new URL(own.upstream).host}
`
}

function version(program: string): string {
  const answer = execFileSync(program, ['-v'], { encoding: 'utf8' })
  return `HAProxy ${/version (\d+\.\d+\.\d+)/.exec(answer)?.[1] ?? ''}`.trim()
}
