import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { errorCode } from '../diagnostics/error-code.ts'
import { pemCertificates } from '../net/pem-certificates.ts'
import type { RedisConnection, RedisSetting } from './redis-connection.ts'

/** An error in the settings of a connection. The message names the setting and contains no secret. */
export type ConnectionFault = { readonly message: string; readonly hint: string }

/** Finds settings of a connection that contradict each other. */
export function findConnectionFaults(
  connection: RedisConnection,
  setting: RedisSetting,
): readonly ConnectionFault[] {
  const { url, sentinel, cluster, tls, username, passwordFile } = connection
  const faults: ConnectionFault[] = []
  if ([url, sentinel, cluster].filter((one) => one !== undefined).length !== 1)
    faults.push({
      message: `${setting}: set exactly one of url, sentinel and cluster`,
      hint: 'use url for one server, sentinel for a primary with Sentinels, cluster for a Redis Cluster',
    })
  if ((tls?.certFile === undefined) !== (tls?.keyFile === undefined))
    faults.push({
      message: `${setting}.tls: set both certFile and keyFile, or neither`,
      hint: 'a client certificate needs its key',
    })
  if (url === undefined) return faults
  if (tls !== undefined && url.startsWith('redis:'))
    faults.push({
      message: `${setting}.tls: has no effect on a redis:// address`,
      hint: `begin ${setting}.url with rediss://, or remove ${setting}.tls`,
    })
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if ((parsed?.password ?? '') !== '' && passwordFile !== undefined)
    faults.push({
      message: `${setting}.passwordFile: ${setting}.url contains a password too`,
      hint: 'remove the password from the URL',
    })
  if ((parsed?.username ?? '') !== '' && username !== undefined)
    faults.push({
      message: `${setting}.username: ${setting}.url contains a user too`,
      hint: 'remove the user from the URL',
    })
  return faults
}

/** Finds files of a connection that cannot be used. */
export function findFileFaults(
  { sentinel, tls, passwordFile }: RedisConnection,
  setting: RedisSetting,
): readonly ConnectionFault[] {
  return [
    ...(passwordFile === undefined ? [] : findPasswordFault(passwordFile, `${setting}.passwordFile`)),
    ...(sentinel?.passwordFile === undefined
      ? []
      : findPasswordFault(sentinel.passwordFile, `${setting}.sentinel.passwordFile`)),
    ...(tls === undefined ? [] : findTlsFaults(tls, setting)),
  ]
}

function findPasswordFault(file: string, name: string): readonly ConnectionFault[] {
  const text = readOrFault(file, name)
  if (typeof text !== 'string') return [text]
  return firstLine(text) === ''
    ? [{ message: `${name}: the first line of the file is empty`, hint: `write the password to ${file}` }]
    : []
}

function findTlsFaults(
  { caFile, certFile, keyFile }: NonNullable<RedisConnection['tls']>,
  setting: RedisSetting,
): readonly ConnectionFault[] {
  const faults = caFile === undefined ? [] : findCaFaults(caFile, `${setting}.tls.caFile`)
  if (certFile === undefined || keyFile === undefined) return faults
  const cert = readOrFault(certFile, `${setting}.tls.certFile`)
  const key = readOrFault(keyFile, `${setting}.tls.keyFile`)
  if (typeof cert !== 'string' || typeof key !== 'string')
    return [...faults, ...[cert, key].filter((one) => typeof one !== 'string')]
  try {
    createSecureContext({ cert, key })
    return faults
  } catch (error) {
    const message = `${setting}.tls: the client certificate is not usable (${errorCode(error)})`
    return [...faults, { message, hint: 'write a PEM certificate and its PEM key to certFile and keyFile' }]
  }
}

function findCaFaults(file: string, name: string): readonly ConnectionFault[] {
  const text = readOrFault(file, name)
  if (typeof text !== 'string') return [text]
  const certificates = pemCertificates(text)
  return certificates.length > 0 && certificates.every(isCertificate)
    ? []
    : [
        {
          message: `${name}: the file has no usable PEM certificate`,
          hint: `write the CA certificates to ${file}`,
        },
      ]
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

function readOrFault(file: string, name: string): string | ConnectionFault {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    return {
      message: `${name}: the file cannot be read (${errorCode(error)})`,
      hint: `write a file that this user may read to ${file}`,
    }
  }
}

export function firstLine(text: string): string {
  return /^[^\r\n]*/.exec(text)?.[0] ?? ''
}
