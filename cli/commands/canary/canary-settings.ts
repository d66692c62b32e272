import { resolve } from 'node:path'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import type { Terminal } from '../../terminal.ts'

/** The validated arguments of `scopegate canary`. */
export type CanarySettings = {
  readonly issuer: string
  /** Origin that replaces the origin of the issuer in requests. */
  readonly issuerAddress: string | undefined
  readonly clientId: string
  readonly secretFile: string
  readonly scope: string | undefined
  /** Origins, without a path. */
  readonly gateways: readonly string[]
  /** Origins whose host has an address for each gateway. */
  readonly gatewayServices: readonly string[]
  /** The name in the certificates of the gateways, and their `Host`. Undefined: the host of the address. */
  readonly serverName: string | undefined
  readonly path: string
  readonly validStatus: number
  readonly deadlineMs: number
}

/** The management port, and the time between the starts of two runs. */
export type ServiceSettings = { readonly host: string; readonly port: number; readonly intervalMs: number }

/** @throws {BootError} with exit code 2 for an invalid argument. */
export function readSettings(given: ParsedArguments, terminal: Terminal): CanarySettings {
  const issuer = required(given, 'issuer')
  readHttpUrl('issuer', issuer)
  const path = required(given, 'path')
  if (!path.startsWith('/')) throw usageError('canary', '--path must start with /')
  const gateways = given.texts('gateway').map((text) => readOrigin('gateway', text))
  const gatewayServices = given.texts('gateway-service').map((text) => readOrigin('gateway-service', text))
  if (gateways.length + gatewayServices.length === 0)
    throw usageError('canary', 'name a gateway: --gateway http://127.0.0.1:8080')
  const issuerAddress = given.text('issuer-address')
  const serverName = given.text('server-name')
  if (serverName !== undefined && !/^[A-Za-z0-9.-]{1,253}$/.test(serverName))
    throw usageError('canary', '--server-name must be a host name, like api.example.com')
  return {
    issuer,
    issuerAddress: issuerAddress === undefined ? undefined : readOrigin('issuer-address', issuerAddress),
    clientId: given.text('client-id') ?? 'canary',
    secretFile: resolve(terminal.folder, required(given, 'secret-file')),
    scope: given.text('scope'),
    gateways,
    gatewayServices,
    serverName,
    path,
    validStatus: readNumber(given, 'status', 200),
    deadlineMs: readNumber(given, 'deadline', 30) * 1000,
  }
}

/** @throws {BootError} with exit code 2 for an invalid argument. */
export function readServiceSettings(given: ParsedArguments): ServiceSettings {
  return {
    host: given.text('management-host') ?? '127.0.0.1',
    port: readNumber(given, 'management-port', 9092, { min: 0, max: 65_535 }),
    intervalMs: readNumber(given, 'interval', 60) * 1000,
  }
}

function readOrigin(name: string, text: string): string {
  const url = readHttpUrl(name, text)
  // The normalized URL of an origin is the origin with a slash. The message must not contain a password of the URL.
  if (url.href !== `${url.origin}/`)
    throw usageError(
      'canary',
      `--${name} must contain only a scheme, a host and a port, like ${url.origin}. Set --path to the protected path`,
    )
  return url.origin
}

function readHttpUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw usageError('canary', `--${name} must be a URL that starts with http:// or https://`)
  return url
}

function required(given: ParsedArguments, name: string): string {
  const text = given.text(name)
  if (text === undefined || text === '') throw usageError('canary', `--${name} is required`)
  return text
}

function readNumber(
  given: ParsedArguments,
  name: string,
  fallback: number,
  { min, max } = { min: 1, max: 9_999 },
): number {
  const text = given.text(name)
  if (text === undefined) return fallback
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw usageError('canary', `--${name} must be a number from ${min} to ${max}`)
}
