import { resolve } from 'node:path'
import type { Gateway } from './http/identify-callers.ts'
import { StartError } from './start-error.ts'

export type Settings = {
  readonly host: string
  readonly port: number
  readonly databasePath: string
  readonly logLevel: string
  /** If undefined, the service trusts the plain headers. */
  readonly gateway: Gateway | undefined
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * Reads the settings from environment variables.
 * @throws {StartError} ERR_SETTING if a value is not valid.
 */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const port = env['LEARNING_PLATFORM_PORT'] ?? '8082'
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new StartError(
      'ERR_SETTING',
      `LEARNING_PLATFORM_PORT is "${port}": set it to a number from 0 to 65535 (0 takes any free port).`,
    )
  const logLevel = env['LEARNING_PLATFORM_LOG_LEVEL'] ?? 'info'
  if (!LOG_LEVELS.includes(logLevel))
    throw new StartError(
      'ERR_SETTING',
      `LEARNING_PLATFORM_LOG_LEVEL is "${logLevel}": set it to one of ${LOG_LEVELS.join(', ')}.`,
    )
  const host = env['LEARNING_PLATFORM_HOST'] ?? '127.0.0.1'
  if (host === '')
    throw new StartError(
      'ERR_SETTING',
      'LEARNING_PLATFORM_HOST is empty: set the variable to an address, or remove the variable.',
    )
  return {
    host,
    port: Number(port),
    databasePath: resolve(env['LEARNING_PLATFORM_DATABASE'] ?? '.scopegate/learning-platform.sqlite'),
    logLevel,
    gateway: readGateway(env),
  }
}

/** Requires the two variables together. Without the issuer, the service cannot verify an assertion. */
function readGateway(env: Readonly<Record<string, string | undefined>>): Gateway | undefined {
  const keys = env['LEARNING_PLATFORM_GATEWAY_JWKS'] ?? ''
  const issuer = env['LEARNING_PLATFORM_GATEWAY_ISSUER'] ?? ''
  if (keys === '' && issuer === '') return undefined
  if (keys === '' || issuer === '')
    throw new StartError(
      'ERR_SETTING',
      `LEARNING_PLATFORM_GATEWAY_${keys === '' ? 'JWKS' : 'ISSUER'} is missing: set it together with LEARNING_PLATFORM_GATEWAY_${keys === '' ? 'ISSUER' : 'JWKS'}, or remove both.`,
    )
  const keysUrl = URL.parse(keys)
  if (keysUrl === null || !/^https?:$/.test(keysUrl.protocol))
    throw new StartError(
      'ERR_SETTING',
      `LEARNING_PLATFORM_GATEWAY_JWKS is "${keys}": set it to the URL of the gateway's keys.`,
    )
  // Includes services that forward their received assertions (examples/mcp-server).
  const audiences = (env['LEARNING_PLATFORM_GATEWAY_AUDIENCE'] ?? 'learning-platform').split(',')
  return { keysUrl, issuer, audiences }
}
