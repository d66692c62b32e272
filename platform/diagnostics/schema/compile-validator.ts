import { Ajv, type ErrorObject, type KeywordCxt, type ValidateFunction } from 'ajv'
import { callRef } from 'ajv/dist/vocabularies/core/ref.js'
import type { TSchema } from 'typebox'
import { capPerCode } from '../collect-problems.ts'
import { type Diagnostic, diagnostic, type SourceLocation } from '../diagnostic.ts'
import { isRecord } from '../record.ts'
import type { CodeLetter } from '../yaml/read-text-file.ts'
import type { YamlPath } from '../yaml/yaml-locations.ts'
import { describeSchemaError, type Explanation, quoted, type Violation } from './describe-schema-error.ts'
import { suggest } from './suggest.ts'
import { parseCidr } from './value-formats.ts'

/** Returns the source of a value: a location in a file, or an environment variable. */
export type LocationOf = (path: YamlPath, part: 'key' | 'value') => SourceLocation

/** Returns a better explanation of a violation for a specific format. Undefined keeps the default explanation. */
export type Explain = (violation: Violation) => Explanation | undefined

/**
 * Schema keywords of this project:
 * - `x-is`: describes the expected text (`a duration such as 5s`), or all values of a union.
 * - `x-keys`: describes the expected keys of a map.
 * - `x-path`: marks a file path.
 * - `x-secret`: marks a value that must never be shown.
 */
const OUR_KEYWORDS = ['x-is', 'x-keys', 'x-path', 'x-secret']
/** Keyword of a part that is compiled when a value first has this part. */
const DEFERRED = 'x-deferred'

/**
 * Creates a validator of plain data for a TypeBox schema. Every object with listed keys is closed: other keys are
 * errors.
 * Codes: 101 unknown key, 102 not one of the choices, 103 missing key, 104 wrong type, 105 malformed text, 106 out of
 * bounds.
 * @returns a function that reports all problems of a value. A location has at most one problem, but each missing key is
 * a separate problem.
 */
export function compileValidator(
  schema: TSchema,
  options: { readonly letter: CodeLetter; readonly explain?: Explain },
): (value: unknown, locationOf: LocationOf) => readonly Diagnostic[] {
  return (value, locationOf) => {
    const validate = COMPILED.get(schema) ?? compile(schema)
    COMPILED.set(schema, validate)
    if (validate(value)) return []
    const found = capPerCode(
      withoutEchoes(mostTelling(validate.errors ?? [])).map((error) =>
        toDiagnostic(
          { error, path: readPointer(error.instancePath, value), value: error.data },
          locationOf,
          options,
        ),
      ),
    )
    const seen = new Set<string>()
    return found.filter((one) => {
      const key = `${one.location.file}:${one.location.line}:${one.location.column}`
      const isFirst = !seen.has(key)
      seen.add(key)
      return isFirst || one.code.endsWith('103')
    })
  }
}

/**
 * The compiled schemas. Each reload of policies reads the `upstreams.yaml` of each policy source, which has the same
 * schema.
 */
const COMPILED = new WeakMap<TSchema, ValidateFunction>()

let ajv: Ajv | undefined

/**
 * Compiles a schema on first use, because most runs do not use most schemas. The compilation of all parts would take a
 * quarter of the CPU time of a start.
 */
function compile(schema: TSchema): ValidateFunction {
  return compileClosed(closeObjects(JSON.parse(JSON.stringify(schema))))
}

function compileClosed(schema: Record<string, unknown>): ValidateFunction {
  ajv ??= createAjv()
  return ajv.compile(deferParts(schema))
}

/** Replaces each object below `schema` that lists its keys. The description remains for messages. */
function deferParts(schema: Record<string, unknown>): Record<string, unknown> {
  const part = (value: unknown): unknown => {
    if (!isRecord(value)) return value
    if (!('properties' in value)) return deferParts(value)
    return { description: value['description'], [DEFERRED]: value }
  }
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (isRecord(value) && /^(p|patternP)roperties$/.test(keyword))
      return [keyword, Object.fromEntries(Object.entries(value).map(([key, one]) => [key, part(one)]))]
    if (keyword === 'items' || keyword === 'additionalProperties') return [keyword, part(value)]
    if (Array.isArray(value) && /Of$/.test(keyword)) return [keyword, value.map(deferParts)]
    return [keyword, value]
  })
  return Object.fromEntries(entries)
}

/** Generates the call of the validator of a part. The errors of the part have the location in the complete value. */
function callPart(context: KeywordCxt): void {
  let validate: ValidateFunction | undefined
  const call: Pick<ValidateFunction, 'errors'> & ((...args: Parameters<ValidateFunction>) => boolean) = (
    ...args
  ) => {
    validate ??= compileClosed(context.schema)
    const isValid = validate(...args)
    call.errors = validate.errors ?? null
    return isValid
  }
  callRef(context, context.gen.scopeValue('validate', { ref: call }))
}

function createAjv(): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: true,
    strictRequired: false, // each branch of a `oneOf` requires keys that only the enclosing schema lists
    allowUnionTypes: true,
    ownProperties: true,
    // The validation of schemas is off, because TypeBox builds the schemas and tests cover them. Loading the
    // meta-schema would take longer than loading all schemas.
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  })
  ajv.addVocabulary(OUR_KEYWORDS)
  ajv.addKeyword({ keyword: DEFERRED, schemaType: 'object', code: callPart })
  // Ajv's uniqueItems is O(n²), and a hostile list can have 100,000 items.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (wanted: boolean, items: readonly unknown[]) => !wanted || findRepeated(items) === -1,
  })
  ajv.addFormat('cidr', (text) => parseCidr(text) !== undefined)
  ajv.addFormat('url', (text) => URL.canParse(text))
  return ajv
}

/**
 * Removes the summary error of a failed union, which repeats the errors of its branches. Keeps the branch errors.
 * If the union has `x-is`, keeps the summary error instead, because each branch error names only one of the branches.
 */
function mostTelling(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const described = errors.filter(isDescribedUnion)
  const inner = errors.filter((one) => {
    if (isDescribedUnion(one)) return true
    if (described.some(({ schemaPath }) => one.schemaPath.startsWith(`${schemaPath}/`))) return false
    return isChoiceOfKeys(one)
      ? one.keyword === 'oneOf' && isRecord(one.data)
      : !/^(anyOf|oneOf|if)$/.test(one.keyword)
  })
  return inner.length === 0 ? errors : inner
}

/** Returns true for the summary error of a union that describes all of its values. */
function isDescribedUnion({ keyword, parentSchema }: ErrorObject): boolean {
  return keyword === 'anyOf' && parentSchema?.['x-is'] !== undefined
}

/** Returns true for an error about a map that requires exactly one of several keys. */
function isChoiceOfKeys({ keyword, schemaPath, schema }: ErrorObject): boolean {
  if (keyword === 'required') return /\/oneOf\/\d+\/required$/.test(schemaPath)
  return keyword === 'oneOf' && Array.isArray(schema) && schema.every((one) => 'required' in one)
}

/** Removes the "missing" error of a misspelled required key, so that one mistake causes one message. */
function withoutEchoes(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const misspelt = new Set<string>()
  for (const error of errors) {
    if (error.keyword !== 'additionalProperties') continue
    const meant = meantKey(error)
    if (meant !== undefined) misspelt.add(`${error.instancePath} ${meant.key}`)
  }
  return errors.filter(
    ({ keyword, instancePath, params, schema }) =>
      (keyword !== 'required' || !misspelt.has(`${instancePath} ${params['missingProperty']}`)) &&
      (keyword !== 'oneOf' || !choices(schema).some((key) => misspelt.has(`${instancePath} ${key}`))),
  )
}

/** Returns the keys of a `oneOf`. A value must have exactly one of these keys. */
function choices(branches: unknown): readonly string[] {
  return Array.isArray(branches) ? branches.flatMap(({ required }) => required ?? []) : []
}

/** Returns the probable key for an unknown key, and the hint. */
function meantKey(error: ErrorObject): { readonly key: string; readonly hint: string } | undefined {
  const written = String(error.params['additionalProperty'])
  const known = knownKeys(error)
  const before = /^([\w-]+):./.exec(written)?.[1]
  if (before !== undefined && known.includes(before))
    return { key: before, hint: `write "${before}: ${written.slice(before.length + 1)}"` }
  const key = suggest(written, known)
  return key === undefined ? undefined : { key, hint: `did you mean "${key}"?` }
}

function knownKeys(error: ErrorObject): readonly string[] {
  return Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {})
}

function toDiagnostic(
  violation: Violation,
  locationOf: LocationOf,
  options: { readonly letter: CodeLetter; readonly explain?: Explain },
): Diagnostic {
  const { error, path } = violation
  const code = (number: string) => `${options.letter}${number}`
  const params: Record<string, unknown> = error.params
  if (error.keyword === 'additionalProperties') {
    const key = String(params['additionalProperty'])
    const keys = error.parentSchema?.['x-keys']
    if (typeof keys === 'string')
      return diagnostic(code('105'), `${quoted(key)} is not ${keys}`, locationOf([...path, key], 'key'))
    const hint = meantKey(error)?.hint ?? `valid keys: ${knownKeys(error).join(', ')}`
    return diagnostic(code('101'), `unknown key ${quoted(key)}`, locationOf([...path, key], 'key'), { hint })
  }
  const better = options.explain?.(violation)
  const location =
    error.keyword === 'uniqueItems'
      ? locationOf([...path, findRepeated(violation.value as readonly unknown[])], 'value')
      : locationOf(path, error.keyword === 'required' ? 'key' : 'value')
  if (better !== undefined)
    return diagnostic(code(better.number), better.message, location, { hint: better.hint })
  const { number, message, hint } = describeSchemaError(violation)
  return diagnostic(code(number), message, location, { hint })
}

/** @returns the position of the first item that equals an earlier item, or -1. */
function findRepeated(items: readonly unknown[]): number {
  const seen = new Set<string>()
  return items.findIndex((one) => seen.size === seen.add(JSON.stringify(one)).size)
}

/** Parses a JSON Pointer (RFC 6901). Whether a step is a key or a list position depends on the data. */
function readPointer(pointer: string, root: unknown): YamlPath {
  let value = root
  return pointer
    .split('/')
    .slice(1)
    .map((raw) => {
      const step = raw.replaceAll('~1', '/').replaceAll('~0', '~')
      const isList = Array.isArray(value)
      value = (value as Record<string, unknown> | undefined)?.[step]
      return isList ? Number(step) : step
    })
}

/**
 * Sets `additionalProperties: false` on every object that lists its keys, unless the object sets this keyword itself.
 */
export function closeObjects(schema: unknown): Record<string, unknown> {
  if (typeof schema !== 'object' || schema === null) return schema as unknown as Record<string, unknown>
  const entries = Object.entries(schema).map(
    ([key, value]) => [key, Array.isArray(value) ? value.map(closeIfObject) : closeIfObject(value)] as const,
  )
  const closed: Record<string, unknown> = Object.fromEntries(entries)
  if (closed['type'] === 'object' && 'properties' in closed) closed['additionalProperties'] ??= false
  return closed
}

function closeIfObject(value: unknown): unknown {
  return isRecord(value) ? closeObjects(value) : value
}
