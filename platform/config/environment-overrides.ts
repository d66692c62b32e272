import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse } from 'yaml'
import { type Diagnostic, diagnostic, wholeFile } from '../diagnostics/diagnostic.ts'
import { errorCode } from '../diagnostics/error-code.ts'
import { suggest } from '../diagnostics/schema/suggest.ts'
import type { YamlPath } from '../diagnostics/yaml/yaml-locations.ts'

/** The keywords of a JSON Schema that the overrides use. */
type Schema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly 'x-path'?: boolean
}

export type Override = { readonly name: string; readonly path: YamlPath; readonly value: unknown }

const PREFIX = 'SCOPEGATE_'
/** Variables that other modules read. */
const KNOWN_ELSEWHERE = ['SCOPEGATE_CONFIG_DIR']
const SHORT_FORMS: Readonly<Record<string, string>> = { REDIS_URL: 'REDIS__URL', PORT: 'LISTEN__PORT' }

/**
 * Finds the overrides that the environment sets. Supported names:
 * - `SCOPEGATE_<PATH__TO__KEY>`: `__` separates levels, and a number selects a list item. Case and `_` inside a level
 *   do not matter.
 * - The same name with the suffix `_FILE`: reads the value from a file.
 * - The short forms `REDIS_URL` and `PORT`.
 *
 * An empty variable counts as absent. The long form overrides the short form.
 * @returns the overrides, a warning for each variable that matches no key, and an error for each unreadable file.
 */
export function readOverrides(options: {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly schema: object
  /** The parsed content of the file, which gives the existing keys of free-form maps. */
  readonly value: unknown
  /** Prefix of every variable for this file, e.g. `UPSTREAMS` for config/upstreams.yaml. */
  readonly section: string | undefined
  /** Sections that belong to other files. */
  readonly otherSections: readonly string[]
}): { readonly overrides: readonly Override[]; readonly diagnostics: readonly Diagnostic[] } {
  const overrides: Override[] = []
  const diagnostics: Diagnostic[] = []
  const prefix = options.section === undefined ? PREFIX : `${PREFIX}${options.section}__`
  for (const [name, levels] of candidates(options.env, prefix, options.section === undefined)) {
    const given = options.env[name] ?? ''
    if (given === '') continue
    if (options.otherSections.some((section) => levels.startsWith(`${section}__`))) continue
    const found = findKey(levels, options.schema as Schema, options.value)
    if (found !== undefined) {
      overrides.push({ name, path: found.path, value: convert(given, found.schema) })
      continue
    }
    const viaFile = levels.endsWith('_FILE')
      ? findKey(levels.slice(0, -'_FILE'.length), options.schema as Schema, options.value)
      : undefined
    if (viaFile === undefined) {
      if (SHORT_FORMS[name] === undefined)
        diagnostics.push(unknownVariable(name, prefix, options.schema as Schema))
      continue
    }
    try {
      const content = readFileSync(resolve(given), 'utf8').replace(/\r?\n$/, '')
      overrides.push({ name, path: viaFile.path, value: convert(content, viaFile.schema) })
    } catch (error) {
      diagnostics.push(
        diagnostic(
          'C001',
          `the file at the path in ${name} cannot be read (${errorCode(error)})`,
          wholeFile(`environment variable ${name}`),
          { hint: `write a file that this user may read to ${given}` },
        ),
      )
    }
  }
  return { overrides, diagnostics }
}

/** Yields the short forms first, so that the long forms overwrite the short forms. */
function* candidates(
  env: Readonly<Record<string, string | undefined>>,
  prefix: string,
  whole: boolean,
): Generator<[name: string, levels: string]> {
  if (whole) {
    for (const [short, levels] of Object.entries(SHORT_FORMS)) {
      if (env[short] !== undefined) yield [short, levels]
      if (env[`${short}_FILE`] !== undefined) yield [`${short}_FILE`, `${levels}_FILE`]
    }
  }
  for (const name of Object.keys(env).toSorted()) {
    if (name.startsWith(prefix) && !KNOWN_ELSEWHERE.includes(name)) yield [name, name.slice(prefix.length)]
  }
}

function findKey(
  levels: string,
  root: Schema,
  rootValue: unknown,
): { path: YamlPath; schema: Schema } | undefined {
  let schemas: readonly Schema[] = [root]
  let value = rootValue
  const path: (string | number)[] = []
  for (const level of levels.split('__')) {
    const step = stepInto(level, schemas, value)
    if (step === undefined) return undefined
    path.push(step.key)
    schemas = step.schemas
    value = (value as Record<string | number, unknown> | null | undefined)?.[step.key]
  }
  const schema = schemas.find((one) => one.type !== 'null')
  return schema === undefined ? undefined : { path, schema }
}

function stepInto(
  level: string,
  schemas: readonly Schema[],
  value: unknown,
): { key: string | number; schemas: readonly Schema[] } | undefined {
  const wanted = fold(level)
  if (wanted === '') return undefined
  for (const schema of schemas.flatMap(branches)) {
    if (schema.items !== undefined && /^(0|[1-9][0-9]{0,3})$/.test(level))
      return { key: Number(level), schemas: [schema.items] }
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
      if (fold(key) === wanted) return { key, schemas: [inner] }
    }
    const free = freeForm(schema)
    if (free === undefined) continue
    const known =
      typeof value === 'object' && value !== null
        ? Object.keys(value).find((key) => fold(key) === wanted)
        : undefined
    const key = known ?? level.toLowerCase().replaceAll('_', '-')
    if (new RegExp(free.pattern).test(key)) return { key, schemas: [free.schema] }
  }
  return undefined
}

/** Returns the key pattern and value schema of a map with user-defined keys, such as the names of upstreams. */
function freeForm(schema: Schema): { readonly pattern: string; readonly schema: Schema } | undefined {
  if (typeof schema.additionalProperties === 'object')
    return { pattern: '', schema: schema.additionalProperties }
  const [first] = Object.entries(schema.patternProperties ?? {})
  return first === undefined ? undefined : { pattern: first[0], schema: first[1] }
}

function branches(schema: Schema): readonly Schema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(branches)
}

function fold(text: string): string {
  return text.toLowerCase().replace(/[-_]/g, '')
}

/**
 * Converts text to the type that the schema expects. A value that cannot be converted stays text and fails validation.
 */
function convert(given: string, schema: Schema): unknown {
  const types = new Set(branches(schema).map((one) => one.type))
  // Numbers precede text: if a key accepts both a number and a word such as `auto`, digits become a number.
  if ((types.has('integer') || types.has('number')) && /^-?[0-9]{1,15}(\.[0-9]+)?$/.test(given))
    return Number(given)
  if (types.has('string')) return given
  if (types.has('boolean') && (given === 'true' || given === 'false')) return given === 'true'
  if (!types.has('array') && !types.has('object')) return given
  if (types.has('array') && !given.trimStart().startsWith('['))
    return given.split(',').map((item) => item.trim())
  try {
    return parse(given, { logLevel: 'error', maxAliasCount: 0 })
  } catch {
    return given
  }
}

function unknownVariable(name: string, prefix: string, schema: Schema): Diagnostic {
  // Compares names without the common prefix, which would make unrelated names look similar.
  const names = [...variableNames(schema, prefix), ...KNOWN_ELSEWHERE].map((one) => one.slice(PREFIX.length))
  const near = suggest(name.slice(PREFIX.length), names)
  return diagnostic(
    'C110',
    `${name} matches no configuration key`,
    wholeFile(`environment variable ${name}`),
    {
      severity: 'warning',
      hint: near === undefined ? undefined : `did you mean ${PREFIX}${near}?`,
    },
  )
}

function* variableNames(schema: Schema, prefix: string): Generator<string> {
  for (const one of branches(schema)) {
    for (const [key, inner] of Object.entries(one.properties ?? {})) {
      const name = `${prefix}${key.replace(/[A-Z]/g, '_$&').replaceAll('-', '_').toUpperCase()}`
      yield name
      yield* variableNames(inner, `${name}__`)
    }
    if (one.items !== undefined) yield* variableNames(one.items, `${prefix}0__`)
  }
}
