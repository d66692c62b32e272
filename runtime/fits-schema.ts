import { parseCidr } from './cidr.ts'
import { findRepeated } from './find-repeated.ts'

/** Whether a value is what a schema asks for. */
export type Fit = (value: unknown) => boolean

type Schema = Readonly<Record<string, unknown>>
/** From what stands behind a keyword; undefined: this is not a use of it that is known here. */
type ReadKeyword = (given: unknown, schema: Schema) => Fit | undefined

/**
 * Makes a check that says yes or no, for schemas of the keywords of JSON Schema 2020-12 that our formats use. What is checked is nearly
 * always right, and a whole validator, which has the words for what is wrong, takes longer to load and to compile than all of
 * it takes to check.
 * @returns undefined for a schema with anything else in it: only a validator can tell then.
 */
export function fitsSchema(schema: unknown): Fit | undefined {
  if (!isMap(schema)) return undefined
  const checks: Fit[] = []
  for (const [keyword, given] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) continue
    const check = KEYWORDS.get(keyword)?.(given, schema)
    if (check === undefined) return undefined
    checks.push(check)
  }
  return (value) => checks.every((fits) => fits(value))
}

const ANNOTATIONS: ReadonlySet<string> = new Set(['$id', 'title', 'description'])

const KEYWORDS: ReadonlyMap<string, ReadKeyword> = new Map<string, ReadKeyword>([
  ['type', readType],
  ['enum', (values) => (Array.isArray(values) && values.every(isPlain) ? among(values) : undefined)],
  ['const', (value) => (isPlain(value) ? among([value]) : undefined)],
  ['anyOf', (schemas) => branches(schemas, (fitting) => fitting > 0)],
  ['oneOf', (schemas) => branches(schemas, (fitting) => fitting === 1)],
  ['pattern', (pattern) => matches(new RegExp(String(pattern), 'u'))],
  ['format', (name) => (name === 'cidr' ? ofText((text) => parseCidr(text) !== undefined) : undefined)],
  ['minLength', (least) => ofText((text) => codePoints(text) >= Number(least))],
  ['maxLength', (most) => ofText((text) => text.length <= Number(most) || codePoints(text) <= Number(most))],
  ['minimum', (least) => ofNumber((one) => one >= Number(least))],
  ['maximum', (most) => ofNumber((one) => one <= Number(most))],
  ['minItems', (least) => ofList((items) => items.length >= Number(least))],
  ['maxItems', (most) => ofList((items) => items.length <= Number(most))],
  ['uniqueItems', (wanted) => ofList((items) => wanted !== true || findRepeated(items) === -1)],
  ['items', readItems],
  ['minProperties', (least) => ofMap((map) => Object.keys(map).length >= Number(least))],
  ['maxProperties', (most) => ofMap((map) => Object.keys(map).length <= Number(most))],
  ['required', readRequired],
  ['properties', readProperties],
  ['patternProperties', readPatternProperties],
  ['additionalProperties', readAdditionalProperties],
])

function readType(given: unknown): Fit | undefined {
  const kinds = [given].flat().map((name) => KINDS.get(String(name)))
  return kinds.some((kind) => kind === undefined) ? undefined : (value) => kinds.some((is) => is?.(value))
}

const KINDS: ReadonlyMap<string, Fit> = new Map<string, Fit>([
  ['object', isMap],
  ['array', Array.isArray],
  ['string', (value) => typeof value === 'string'],
  ['boolean', (value) => typeof value === 'boolean'],
  ['number', Number.isFinite],
  ['integer', Number.isInteger],
])

/** Values that are equal when they are the same. */
function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function among(values: readonly unknown[]): Fit {
  return (value) => values.some((one) => one === value)
}

function branches(schemas: unknown, isEnough: (fitting: number) => boolean): Fit | undefined {
  const fits = Array.isArray(schemas) ? readAll(schemas) : undefined
  if (fits === undefined) return undefined
  return (value) => isEnough(fits.filter((one) => one(value)).length)
}

function readItems(given: unknown): Fit | undefined {
  const fits = fitsSchema(given)
  return fits === undefined ? undefined : ofList((items) => items.every(fits))
}

function readRequired(given: unknown): Fit | undefined {
  if (!Array.isArray(given)) return undefined
  return ofMap((map) => given.every((name) => Object.hasOwn(map, name)))
}

function readProperties(given: unknown): Fit | undefined {
  const entries = isMap(given) ? Object.entries(given) : []
  const fits = readAll(entries.map(([, schema]) => schema))
  if (fits === undefined) return undefined
  const listed = entries.map(([name], index) => [name, fits[index]] as const)
  return ofMap((map) => listed.every(([name, one]) => !Object.hasOwn(map, name) || one?.(map[name]) === true))
}

function readPatternProperties(given: unknown): Fit | undefined {
  const entries = isMap(given) ? Object.entries(given) : []
  const fits = readAll(entries.map(([, schema]) => schema))
  if (fits === undefined) return undefined
  const patterns = entries.map(([pattern], index) => [new RegExp(pattern, 'u'), fits[index]] as const)
  return ofMap((map) =>
    Object.keys(map).every((name) =>
      patterns.every(([pattern, one]) => !pattern.test(name) || one?.(map[name]) === true),
    ),
  )
}

/** False: there is no key but those of `properties` and `patternProperties`. */
function readAdditionalProperties(
  given: unknown,
  { properties, patternProperties }: Schema,
): Fit | undefined {
  if (given !== false) return given === true ? () => true : undefined
  const listed = new Set(Object.keys(properties ?? {}))
  const patterns = Object.keys(patternProperties ?? {}).map((pattern) => new RegExp(pattern, 'u'))
  return ofMap((map) =>
    Object.keys(map).every((name) => listed.has(name) || patterns.some((pattern) => pattern.test(name))),
  )
}

/** undefined when one of them is not known here. */
function readAll(schemas: readonly unknown[]): readonly Fit[] | undefined {
  const fits = schemas.flatMap((schema) => fitsSchema(schema) ?? [])
  return fits.length === schemas.length ? fits : undefined
}

// A keyword says nothing of values of another kind than its own.

function ofText(holds: (text: string) => boolean): Fit {
  return (value) => typeof value !== 'string' || holds(value)
}

function matches(pattern: RegExp): Fit {
  return ofText((text) => pattern.test(text))
}

function ofNumber(holds: (one: number) => boolean): Fit {
  return (value) => !Number.isFinite(value) || holds(Number(value))
}

function ofList(holds: (items: readonly unknown[]) => boolean): Fit {
  return (value) => !Array.isArray(value) || holds(value)
}

function ofMap(holds: (map: Readonly<Record<string, unknown>>) => boolean): Fit {
  return (value) => !isMap(value) || holds(value)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** RFC 8259 section 8.2 counts characters, not the units of UTF-16. */
function codePoints(text: string): number {
  return [...text].length
}
