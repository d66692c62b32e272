import { dirname, resolve } from 'node:path'
import type { Static, TSchema } from 'typebox'
import { ConfigError } from '../diagnostics/boot-error.ts'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  type SourceLocation,
  sortDiagnostics,
  wholeFile,
} from '../diagnostics/diagnostic.ts'
import { displayPath } from '../diagnostics/display-path.ts'
import { isRecord } from '../diagnostics/record.ts'
import { compileValidator } from '../diagnostics/schema/compile-validator.ts'
import type { TextSource } from '../diagnostics/yaml/text-source.ts'
import { readYamlFile } from '../diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../diagnostics/yaml/yaml-locations.ts'
import type { Logger } from '../logging/logger.ts'
import { type Override, readOverrides } from './environment-overrides.ts'

/** Returns the source location of a value: in the file, or in the environment. */
export type LocationOf = (path: YamlPath) => SourceLocation

/** The validated and frozen content of a configuration file, and its warnings. */
export type ReadConfig<T> = {
  readonly value: T
  readonly warnings: readonly Diagnostic[]
  readonly locationOf: LocationOf
}

/**
 * Reads a configuration file: parses YAML, applies overrides from the environment, and validates the result. Keys that
 * the schema does not list are errors. Paths marked with `x-path` (`FilePath`) become absolute. The caller supplies the
 * defaults. Cost: one synchronous read, so call this function only at the start of a process.
 * @throws {ConfigError} ERR_CONFIG_INVALID, with file, line and column of every problem.
 */
export function readConfig<T extends TSchema>(options: {
  readonly file: string
  readonly schema: T
  readonly env: Readonly<Record<string, string | undefined>>
  /** Variable section of this file, e.g. `UPSTREAMS` for `SCOPEGATE_UPSTREAMS__…`. */
  readonly section?: string
  /** Sections that belong to other files. Their variables cause no warning. */
  readonly otherSections?: readonly string[]
  /**
   * Defaults for keys that the file may omit, including keys of nested maps. Relative paths start at the file's folder.
   */
  readonly defaults?: ConfigDefaults
  /** Content of the file, if the caller has read the file already. Default: the function reads the file. */
  readonly source?: TextSource | undefined
}): ReadConfig<Static<T>> {
  const document = readYamlFile(
    options.file,
    { shownAs: displayPath(options.file), letter: 'C' },
    options.source,
  )
  if (document.value === undefined) throw new ConfigError(document.diagnostics)
  const found = readOverrides({
    env: options.env,
    schema: options.schema,
    value: withDefaults(document.value, options.defaults),
    section: options.section,
    otherSections: options.otherSections ?? [],
  })
  const fromEnvironment = new Map<string, Override>()
  const diagnostics = [...document.diagnostics, ...found.diagnostics]
  let value = withDefaults(document.value, options.defaults)
  for (const override of found.overrides) {
    const changed = setAt(value, override.path, override.value)
    if (changed === undefined) diagnostics.push(cannotSet(override))
    else value = changed
    fromEnvironment.set(JSON.stringify(override.path), override)
  }
  const locationOf = (path: YamlPath, part: 'key' | 'value') => {
    for (let length = path.length; length > 0; length--) {
      const override = fromEnvironment.get(JSON.stringify(path.slice(0, length)))
      if (override !== undefined) return wholeFile(`environment variable ${override.name}`)
    }
    return document.locationOf(path, part)
  }
  const check = compileValidator(options.schema, { letter: 'C' })
  diagnostics.push(...check(value, locationOf).map(withVariable))
  if (hasErrors(diagnostics)) throw new ConfigError(sortDiagnostics(diagnostics))
  const absolute = resolvePaths(value, options.schema as object as PathSchema, [], (path, given) =>
    fromEnvironment.has(JSON.stringify(path)) ? resolve(given) : resolve(dirname(options.file), given),
  )
  return {
    value: freezeDeep(absolute) as Static<T>,
    warnings: diagnostics,
    locationOf: (path) => locationOf(path, 'value'),
  }
}

/** Adds the variable's name to the message, because a value from the environment has no source line to show. */
function withVariable(one: Diagnostic): Diagnostic {
  const variable = /^environment variable (.+)$/.exec(one.location.file)?.[1]
  return variable === undefined || one.message.includes(variable)
    ? one
    : { ...one, message: `${variable}: ${one.message}` }
}

type ConfigDefaults = { readonly [key: string]: string | number | ConfigDefaults }

/**
 * Adds the defaults of absent keys. Returns any other value than a map unchanged, so that the schema check reports the
 * value.
 */
function withDefaults(value: unknown, defaults: ConfigDefaults | undefined): unknown {
  if (defaults === undefined || !isRecord(value)) return value
  const plain: Record<string, unknown> = Object.assign(Object.create(null), value)
  for (const [key, fallback] of Object.entries(defaults)) {
    if (!Object.hasOwn(plain, key)) plain[key] = fallback
    else if (typeof fallback === 'object') plain[key] = withDefaults(plain[key], fallback)
  }
  return plain
}

/** @returns a copy with one value replaced, or undefined when a list would get a gap or a text would get keys. */
function setAt(value: unknown, path: YamlPath, given: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return given
  if (value === undefined || value === null) value = typeof step === 'number' ? [] : Object.create(null)
  if (typeof step === 'number') {
    if (!Array.isArray(value) || step > value.length) return undefined
    const inner = setAt(value[step], rest, given)
    return inner === undefined ? undefined : value.toSpliced(step, 1, inner)
  }
  if (typeof value !== 'object' || Array.isArray(value)) return undefined
  const inner = setAt((value as Record<string, unknown>)[step], rest, given)
  return inner === undefined ? undefined : Object.assign(Object.create(null), value, { [step]: inner })
}

function cannotSet(override: Override): Diagnostic {
  return diagnostic(
    'C111',
    `${override.name} cannot be set: its parent must be a map, or a list with all earlier items`,
    wholeFile(`environment variable ${override.name}`),
    { hint: 'number list items from 0, without gaps' },
  )
}

type PathSchema = { readonly [keyword: string]: unknown }

/** Walks data and schema together and makes every text marked with `x-path` absolute. */
function resolvePaths(
  value: unknown,
  schema: PathSchema,
  path: YamlPath,
  absolute: (path: YamlPath, given: string) => string,
): unknown {
  if (typeof value === 'string') return marksPath(schema) ? absolute(path, value) : value
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      resolvePaths(item, (schema['items'] ?? {}) as PathSchema, [...path, index], absolute),
    )
  }
  if (typeof value !== 'object' || value === null) return value
  const plain: Record<string, unknown> = Object.create(null)
  for (const [key, inner] of Object.entries(value)) {
    plain[key] = resolvePaths(inner, schemaOf(key, schema), [...path, key], absolute)
  }
  return plain
}

function marksPath(schema: PathSchema): boolean {
  return schema['x-path'] === true || ((schema['anyOf'] ?? []) as PathSchema[]).some(marksPath)
}

function schemaOf(key: string, schema: PathSchema): PathSchema {
  for (const one of [schema, ...((schema['anyOf'] ?? []) as PathSchema[])]) {
    const listed = (one['properties'] as Record<string, PathSchema> | undefined)?.[key]
    if (listed !== undefined) return listed
    const free = Object.values((one['patternProperties'] ?? {}) as Record<string, PathSchema>)[0]
    if (free !== undefined) return free
  }
  return {}
}

function freezeDeep(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) freezeDeep(inner)
  return Object.freeze(value)
}

/** Logs each configuration warning with its code, source location and hint. */
export function logConfigWarnings(logger: Logger, warnings: readonly Diagnostic[]): void {
  for (const { code, location, message, hint } of warnings)
    logger.warn(
      { event: 'config_warning', diagnostic: code, place: location },
      hint === undefined ? message : `${message}; ${hint}`,
    )
}
