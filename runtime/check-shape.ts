import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { parseCidr } from './cidr.ts'
import { type Diagnostic, diagnostic, type Place } from './diagnostic.ts'
import type { CodeLetter } from './read-text-file.ts'
import { suggest } from './suggest.ts'
import type { YamlPath } from './yaml-places.ts'

/** Where a value came from: a place in a file, or an environment variable. */
export type PlaceOf = (path: YamlPath, part: 'key' | 'value') => Place

/** One violation, before it is put into words; `value` is what stands there. */
export type Violation = { readonly error: ErrorObject; readonly path: YamlPath; readonly value: unknown }

/** Better words for a violation that the format knows more about; undefined keeps the usual ones. */
export type Explain = (violation: Violation) => { number: string; message: string; hint?: string } | undefined

/**
 * Keywords of ours inside a schema: `x-is` says in words what a text has to be (`a duration such as 5s`), `x-path` marks
 * a file's path, `x-secret` a value that must never be shown.
 */
const OUR_KEYWORDS = ['x-is', 'x-path', 'x-secret']

/**
 * Prepares a check of plain data against a TypeBox schema. Every object with listed keys is closed: other keys are errors.
 * Codes: 101 unknown key, 102 not one of the choices, 103 missing key, 104 wrong kind, 105 malformed text, 106 out of bounds.
 * @returns a function that names everything that is wrong with a value, at most one thing for each place.
 */
export function compileShape(
  schema: TSchema,
  options: { readonly letter: CodeLetter; readonly explain?: Explain },
): (value: unknown, placeOf: PlaceOf) => readonly Diagnostic[] {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: true,
    allowUnionTypes: true,
    ownProperties: true,
  })
  ajv.addVocabulary(OUR_KEYWORDS)
  ajv.addFormat('cidr', (text) => parseCidr(text) !== undefined)
  const validate: ValidateFunction = ajv.compile(closeObjects(JSON.parse(JSON.stringify(schema))))
  return (value, placeOf) => {
    if (validate(value)) return []
    const diagnostics: Diagnostic[] = []
    const seen = new Set<string>()
    for (const error of mostTelling(validate.errors ?? [])) {
      const path = readPointer(error.instancePath, value)
      const one = toDiagnostic({ error, path, value: error.data }, placeOf, options)
      const key = `${one.place.file}:${one.place.line}:${one.place.column}`
      if (one.code.endsWith('103') || !seen.has(key)) diagnostics.push(one)
      seen.add(key)
    }
    return diagnostics
  }
}

/** A union that fails repeats the failures of each branch; those of the branch that was meant stay, the frame goes. */
function mostTelling(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const inner = errors.filter((one) => !/^(anyOf|oneOf|if)$/.test(one.keyword))
  return inner.length === 0 ? errors : inner
}

function toDiagnostic(
  violation: Violation,
  placeOf: PlaceOf,
  options: { readonly letter: CodeLetter; readonly explain?: Explain },
): Diagnostic {
  const { error, path } = violation
  const code = (number: string) => `${options.letter}${number}`
  const params: Record<string, unknown> = error.params
  if (error.keyword === 'additionalProperties') {
    const key = String(params['additionalProperty'])
    const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {})
    const near = suggest(key, known)
    const hint = near === undefined ? `known here: ${known.join(', ')}` : `did you mean "${near}"?`
    return diagnostic(code('101'), `unknown key ${quoted(key)}`, placeOf([...path, key], 'key'), { hint })
  }
  const better = options.explain?.(violation)
  const place = placeOf(path, error.keyword === 'required' ? 'key' : 'value')
  if (better !== undefined)
    return diagnostic(code(better.number), better.message, place, { hint: better.hint })
  const { number, message, hint } = explainUsually(violation)
  return diagnostic(code(number), message, place, { hint })
}

function explainUsually({ error, path, value }: Violation): {
  number: string
  message: string
  hint?: string | undefined
} {
  const params: Record<string, unknown> = error.params
  const secret = error.parentSchema?.['x-secret'] === true
  const is = error.parentSchema?.['x-is'] as string | undefined
  const shown = secret ? 'the value' : quoted(value)
  switch (error.keyword) {
    case 'enum':
    case 'const': {
      const choices =
        error.keyword === 'enum' ? (params['allowedValues'] as unknown[]) : [params['allowedValue']]
      const near = typeof value === 'string' ? suggest(value, choices.map(String)) : undefined
      const message =
        choices.length === 1
          ? `${shown} is not ${choices[0]}`
          : `${shown} is not one of ${choices.join(', ')}`
      return { number: '102', message, hint: near === undefined ? undefined : `did you mean "${near}"?` }
    }
    case 'required':
      return {
        number: '103',
        message: `the key "${params['missingProperty']}" is missing ${path.length === 0 ? 'in this file' : `in ${pathText(path)}`}`,
        hint: describeMissing(error),
      }
    case 'type':
      return {
        number: '104',
        message: `${pathText(path)} has to be ${is ?? kindWords(error.schema)}, and this is ${kindOf(value)}`,
        hint: is === undefined ? suggestKind(error.schema, value) : undefined,
      }
    case 'pattern':
    case 'format':
      return {
        number: '105',
        message: `${shown} is not ${is ?? `of the form ${params['pattern'] ?? params['format']}`}`,
      }
    case 'uniqueItems':
      return { number: '106', message: `${pathText(path)} names the same thing twice`, hint: 'keep one' }
    case 'minItems':
    case 'minProperties':
    case 'minLength':
      return { number: '106', message: `${pathText(path)} is empty` }
    default:
      return { number: '106', message: `${pathText(path)} ${error.message ?? 'is not valid'}` }
  }
}

function describeMissing(error: ErrorObject): string | undefined {
  const properties = error.parentSchema?.['properties'] as
    | Record<string, { description?: string }>
    | undefined
  return properties?.[String(error.params['missingProperty'])]?.description
}

function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function pathText(path: YamlPath): string {
  if (path.length === 0) return 'the file'
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}

function kindWords(types: unknown): string {
  const words: Record<string, string> = {
    object: 'a map of keys',
    array: 'a list',
    string: 'a text',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    null: 'empty',
  }
  return (Array.isArray(types) ? types : [types])
    .map((type) => words[String(type)] ?? String(type))
    .join(' or ')
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map of keys'
  if (typeof value === 'string') return 'a text'
  return `the ${typeof value} ${value}`
}

/** What to write when the value is right and its form is not. */
function suggestKind(wanted: unknown, value: unknown): string | undefined {
  if (wanted === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return `write "${value}"`
  if (wanted === 'array' && (typeof value === 'string' || typeof value === 'number'))
    return `write [${value}]`
  if (wanted === 'object' && typeof value === 'string' && /^[\w-]+:\S/.test(value)) {
    return 'a key needs a space after its colon'
  }
  return undefined
}

/** RFC 6901; whether a step is a key or a position only the data can tell. */
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

/** `additionalProperties: false` on every object that lists its keys and does not say otherwise. */
function closeObjects(schema: unknown): Record<string, unknown> {
  if (typeof schema !== 'object' || schema === null) return schema as unknown as Record<string, unknown>
  const entries = Object.entries(schema).map(
    ([key, value]) => [key, Array.isArray(value) ? value.map(closeIfObject) : closeIfObject(value)] as const,
  )
  const closed: Record<string, unknown> = Object.fromEntries(entries)
  if (closed['type'] === 'object' && 'properties' in closed) closed['additionalProperties'] ??= false
  return closed
}

function closeIfObject(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? closeObjects(value) : value
}
