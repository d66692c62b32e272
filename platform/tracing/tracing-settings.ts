import { validateHeaderName } from 'node:http'
import { BootError } from '../diagnostics/boot-error.ts'
import type { TracingConfig } from './tracing-schema.ts'

/** Samplers that OTEL_TRACES_SAMPLER names. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export type TracingSettings = {
  /** Full address of the receiver of spans. */
  readonly url: string
  readonly sampler: (typeof SAMPLERS)[number]
  /** Used by samplers whose name contains `traceidratio`. */
  readonly sampleRatio: number
  /** PEM files for the connection to the receiver, and the variables that name them. */
  readonly tlsFiles: readonly TracingTlsFile[]
  /** Additional headers of each export. */
  readonly headers: Readonly<Record<string, string>>
  /** Longest time of an export with all its attempts. */
  readonly timeoutMs: number
  readonly isCompressed: boolean
}

export type TracingTlsFile = {
  /** The name of the option in `node:tls`. */
  readonly option: 'ca' | 'cert' | 'key'
  readonly variable: string
  readonly file: string
}

/** Certificates and key for the connection to the receiver, in PEM. */
export type TracingTls = Readonly<Partial<Record<TracingTlsFile['option'], string>>>

type Environment = Readonly<Record<string, string | undefined>>

const EXIT_INVALID = 3
const TRACES_PATH = '/v1/traces'
const DEFAULT_TIMEOUT_MS = 10_000
const MAX_TIMEOUT_MS = 2 ** 31 - 1
/** Headers that describe the body or the connection. Another value would make each export fail. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['content-type', 'content-encoding', 'content-length', 'transfer-encoding'],
  ...['connection', 'keep-alive', 'upgrade', 'expect'],
])
const ASCII = /^[\t\x20-\x7e]*$/

/**
 * Combines the configuration with the standard variables of OpenTelemetry. Variables override the configuration. Empty
 * variables count as absent.
 * @returns undefined if neither names a receiver, or if a variable disables tracing.
 * @throws {BootError} ERR_TRACING_VARIABLE, with the name of the invalid variable.
 */
export function readTracingSettings(
  config: TracingConfig | undefined,
  env: Environment,
): TracingSettings | undefined {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined
  const url = addressOf(config, env)
  if (url === undefined) return undefined
  const exporter = readVariable(env, 'OTEL_TRACES_EXPORTER')
  if (exporter === 'none') return undefined
  if (exporter !== undefined && exporter !== 'otlp')
    throw invalid('OTEL_TRACES_EXPORTER', exporter, 'otlp or none')
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const protocol = readVariable(env, name)
    if (protocol === undefined) continue
    if (protocol !== 'http/protobuf')
      throw invalid(name, protocol, 'http/protobuf, and the endpoint an OTLP port for HTTP such as 4318')
    break
  }
  const connection = {
    url,
    tlsFiles: tlsFilesOf(env),
    headers: headersOf(env),
    timeoutMs: timeoutOf(env),
    isCompressed: isCompressed(env),
  }
  const sampler = readVariable(env, 'OTEL_TRACES_SAMPLER')
  if (sampler === undefined)
    return { ...connection, sampler: 'parentbased_traceidratio', sampleRatio: config?.sampleRatio ?? 1 }
  const known = SAMPLERS.find((name) => name === sampler)
  if (known === undefined) throw invalid('OTEL_TRACES_SAMPLER', sampler, `one of ${SAMPLERS.join(', ')}`)
  return { ...connection, sampler: known, sampleRatio: ratioOf(env) }
}

function addressOf(config: TracingConfig | undefined, env: Environment): string | undefined {
  const [full, base] = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const
  for (const name of [full, base]) {
    const given = readVariable(env, name)
    if (given === undefined) continue
    if (!/^https?:\/\//i.test(given) || !URL.canParse(given))
      throw invalid(name, undefined, 'an http or https URL such as http://otel-collector:4318')
    const { username, password } = new URL(given)
    if (decode(username + password) === undefined)
      throw invalid(name, undefined, 'a URL whose user name and password are percent-encoded')
    return name === full ? given : withTracesPath(given)
  }
  return config?.endpoint === undefined ? undefined : withTracesPath(config.endpoint)
}

function withTracesPath(base: string): string {
  const url = new URL(base)
  url.pathname = url.pathname.replace(/\/*$/, TRACES_PATH)
  return url.href
}

const TLS_VARIABLES = { ca: 'CERTIFICATE', cert: 'CLIENT_CERTIFICATE', key: 'CLIENT_KEY' } as const

function tlsFilesOf(env: Environment): readonly TracingTlsFile[] {
  return (['ca', 'cert', 'key'] as const).flatMap((option) => {
    const found = readExporterVariable(env, TLS_VARIABLES[option])
    return found === undefined ? [] : [{ option, variable: found.name, file: found.value }]
  })
}

/** Reads the headers of both variables. A header for traces replaces the same header for all signals. */
function headersOf(env: Environment): Readonly<Record<string, string>> {
  const names = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']
  return Object.fromEntries(names.flatMap((name) => parseHeaders(name, readVariable(env, name) ?? '')))
}

/** Source: W3C Baggage, section 3.2.1, without properties. */
function parseHeaders(variable: string, list: string): readonly (readonly [string, string])[] {
  const pairs = list.split(',').filter((pair) => pair.trim() !== '')
  return pairs.map((pair) => {
    const [, key = '', encoded = ''] = /^([^=]+)=(.*)$/s.exec(pair) ?? []
    const name = key.trim().toLowerCase()
    const value = decode(encoded.trim())
    if (!isHeaderName(name) || value === undefined || !ASCII.test(value))
      throw invalid(
        variable,
        undefined,
        'a list of ASCII headers such as x-tenant=one,authorization=Bearer%20TOKEN',
      )
    if (OWN_HEADERS.has(name))
      throw invalid(variable, undefined, `a list of headers without ${name}, which the service sets itself`)
    return [name, value]
  })
}

/** Decodes percent-encoded characters. Returns undefined for an invalid text. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function isHeaderName(name: string): boolean {
  try {
    validateHeaderName(name)
    return true
  } catch {
    return false
  }
}

function timeoutOf(env: Environment): number {
  const found = readExporterVariable(env, 'TIMEOUT')
  if (found === undefined) return DEFAULT_TIMEOUT_MS
  const timeoutMs = Number(found.value)
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS)
    throw invalid(found.name, found.value, 'a whole number of milliseconds above 0')
  return timeoutMs
}

function isCompressed(env: Environment): boolean {
  const found = readExporterVariable(env, 'COMPRESSION')
  if (found !== undefined && found.value !== 'gzip' && found.value !== 'none')
    throw invalid(found.name, found.value, 'gzip or none')
  return found?.value === 'gzip'
}

/** Reads a variable of the exporter. The variable for traces has precedence over the variable for all signals. */
function readExporterVariable(
  env: Environment,
  suffix: string,
): { readonly name: string; readonly value: string } | undefined {
  for (const name of [`OTEL_EXPORTER_OTLP_TRACES_${suffix}`, `OTEL_EXPORTER_OTLP_${suffix}`]) {
    const value = readVariable(env, name)
    if (value !== undefined) return { name, value }
  }
  return undefined
}

function ratioOf(env: Environment): number {
  const given = readVariable(env, 'OTEL_TRACES_SAMPLER_ARG')
  if (given === undefined) return 1
  const ratio = Number(given)
  if (!(ratio >= 0 && ratio <= 1)) throw invalid('OTEL_TRACES_SAMPLER_ARG', given, 'a number from 0 to 1')
  return ratio
}

function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

/** Returns the error for a file that a variable names. */
export function unusableFile({ variable, file }: TracingTlsFile, reason: string): BootError {
  return new BootError(
    'ERR_TRACING_VARIABLE',
    `The file of the variable ${variable} ${reason}: ${file}. Write a PEM file that this user may read to this path, or remove the variable.`,
    { exitCode: EXIT_INVALID },
  )
}

/** @param given undefined: the message does not show the value, because a URL can contain a password. */
function invalid(name: string, given: string | undefined, expected: string): BootError {
  const shown = given === undefined ? '' : ` (got ${JSON.stringify(given)})`
  return new BootError('ERR_TRACING_VARIABLE', `The variable ${name} must be ${expected}${shown}.`, {
    exitCode: EXIT_INVALID,
  })
}
