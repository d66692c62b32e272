import type { ErrorObject } from 'ajv/dist/2020.js'
import type { YamlPath } from '../yaml/yaml-locations.ts'
import { suggest } from './suggest.ts'
import { suggestChoice, suggestKind, suggestText } from './suggest-form.ts'

/** One schema violation before it has a message. `value` is the invalid value. */
export type Violation = { readonly error: ErrorObject; readonly path: YamlPath; readonly value: unknown }

/** A message for a violation. `number` is the three digits of its code. */
export type Explanation = {
  readonly number: string
  readonly message: string
  readonly hint?: string | undefined
}

/**
 * Describes a violation without schema terminology.
 * Numbers: 102 not one of the choices, 103 missing key, 104 wrong type, 105 malformed text, 106 out of bounds.
 */
export function describeSchemaError({ error, path, value }: Violation): Explanation {
  const params: Record<string, unknown> = error.params
  const secret = error.parentSchema?.['x-secret'] === true
  const is = error.parentSchema?.['x-is'] as string | undefined
  const shown = secret ? 'the value' : quoted(value)
  switch (error.keyword) {
    case 'enum':
    case 'const': {
      const choices =
        error.keyword === 'enum' ? (params['allowedValues'] as unknown[]) : [params['allowedValue']]
      const message =
        choices.length === 1
          ? `${shown} is not ${choices[0]}`
          : `${shown} is not one of ${choices.join(', ')}`
      return { number: '102', message, hint: secret ? undefined : nearestChoice(value, choices) }
    }
    case 'anyOf':
      return is === undefined
        ? notValid(error, path)
        : {
            number: '102',
            message: `${formatPath(path)} must be ${is}, not ${shown}`,
            hint: secret ? undefined : suggestBranch(error.schema, value),
          }
    case 'required':
      return {
        number: '103',
        message: `the key "${params['missingProperty']}" is missing ${path.length === 0 ? 'in this file' : `in ${formatPath(path)}`}`,
        hint: describeMissing(error),
      }
    case 'type':
      return {
        number: '104',
        message: `${formatPath(path)} must be ${is ?? describeTypes(error.schema)}, not ${describeType(value)}`,
        hint: secret
          ? undefined
          : is === undefined
            ? (suggestAddress(error, value) ?? suggestKind(error.schema, value))
            : suggestText(value, error.parentSchema?.['pattern']),
      }
    case 'pattern':
    case 'format':
      return {
        number: '105',
        message: `${shown} is not ${is ?? `of the form ${params['pattern'] ?? params['format']}`}`,
        hint: secret ? undefined : suggestText(value, params['pattern']),
      }
    case 'uniqueItems':
      return { number: '106', message: `${formatPath(path)} contains this value twice`, hint: 'keep one' }
    case 'minItems':
    case 'minProperties':
    case 'minLength':
      return { number: '106', message: `${formatPath(path)} is empty` }
    case 'oneOf': {
      const keys = (error.schema as readonly { readonly required: readonly string[] }[]).flatMap(
        ({ required }) => required,
      )
      return {
        number: '106',
        message: `${formatPath(path)} must have exactly one of ${keys.join(', ')}`,
      }
    }
    case 'minimum':
      return { number: '106', message: `${formatPath(path)} must be at least ${params['limit']}` }
    case 'maximum':
      return { number: '106', message: `${formatPath(path)} must be at most ${params['limit']}` }
    case 'maxLength':
      return { number: '106', message: `${formatPath(path)} has more than ${params['limit']} characters` }
    case 'maxItems':
    case 'maxProperties':
      return { number: '106', message: `${formatPath(path)} has more than ${params['limit']} entries` }
    default:
      return notValid(error, path)
  }
}

function notValid({ message = 'is not valid' }: ErrorObject, path: YamlPath): Explanation {
  return { number: '106', message: `${formatPath(path)} ${message}` }
}

/** Suggests how to write a value as one of the branches of a union. */
function suggestBranch(branches: unknown, value: unknown): string | undefined {
  const all = branches as readonly { readonly const?: unknown; readonly type?: unknown }[]
  const words = all.flatMap((one) => ('const' in one ? [String(one.const)] : []))
  const near = typeof value === 'string' ? suggest(value, words) : undefined
  return near === undefined
    ? suggestKind(
        all.flatMap((one) => ('const' in one ? [] : [one.type])),
        value,
      )
    : `did you mean ${near}?`
}

/** Returns a suggestion for a URL in place of the map that contains the URL: `orders: http://orders.test`. */
function suggestAddress({ schema, parentSchema }: ErrorObject, value: unknown): string | undefined {
  const isAddress = schema === 'object' && typeof value === 'string' && /^https?:\/\/\S+$/.test(value)
  return isAddress && Object.hasOwn(parentSchema?.['properties'] ?? {}, 'url')
    ? `write { url: ${JSON.stringify(value)} }`
    : undefined
}

/** Describes a missing key: shows the complete line if the key has one possible value, else the key's description. */
function describeMissing(error: ErrorObject): string | undefined {
  const properties = error.parentSchema?.['properties'] as
    | Record<string, { description?: string; enum?: readonly unknown[] }>
    | undefined
  const name = String(error.params['missingProperty'])
  const missing = properties?.[name]
  return missing?.enum?.length === 1 ? `add "${name}: ${missing.enum[0]}"` : missing?.description
}

function nearestChoice(value: unknown, choices: readonly unknown[]): string | undefined {
  const sameLetters = suggestChoice(value, choices)
  if (sameLetters !== undefined) return sameLetters
  const near = typeof value === 'string' ? suggest(value, choices.map(String)) : undefined
  if (near !== undefined) return choices.includes(near) ? `did you mean "${near}"?` : `did you mean ${near}?`
  return choices.length === 1 ? `write ${choices[0]}` : undefined
}

/** Formats a value for a message, at most 80 characters. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function formatPath(path: YamlPath): string {
  if (path.length === 0) return 'the file'
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}

function describeTypes(types: unknown): string {
  const words: Record<string, string> = {
    object: 'a map of keys',
    array: 'a list',
    string: 'a string',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    null: 'empty',
  }
  return (Array.isArray(types) ? types : [types])
    .map((type) => words[String(type)] ?? String(type))
    .join(' or ')
}

function describeType(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map of keys'
  if (typeof value === 'string') return 'a string'
  return `the ${typeof value} ${value}`
}
