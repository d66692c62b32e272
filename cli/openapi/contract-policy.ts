import { Document, isScalar, isSeq, isMap as isYamlMap, type YAMLMap } from 'yaml'
import { isRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { formatPolicy } from '../commands/fmt/format-policy.ts'
import { own, type PlainMap } from './plain-data.ts'
import { EXTENSION, type Operation } from './read-operations.ts'
import { nameRoutes } from './route-names.ts'

export type PolicyHead = {
  readonly name: string
  readonly upstream: string
  /** Overrides the mount in the defaults of the contract. */
  readonly mount?: string | undefined
}

/**
 * Converts operations to a policy.
 * @returns the policy as a document with source locations in the contract, so that policy checks point at the contract.
 */
export function toContractPolicy(
  document: YamlDocument,
  operations: readonly Operation[],
  { mount, ...head }: PolicyHead,
): YamlDocument {
  const rootExtension = own(document.value, EXTENSION)
  const names = nameRoutes(operations, head.name)
  const { defaults, ...more } = isRecord(rootExtension) ? rootExtension : { defaults: undefined }
  // A route gets its own `anonymous` rule if the rule of its operation differs from the defaults. So the defaults never
  // open a route to anonymous callers.
  const isOpenByDefault = own(defaults, 'anonymous') === 'allow'
  const routes = operations.map((operation, index) => toRoute(operation, names[index] ?? '', isOpenByDefault))
  const value = {
    apiVersion: 'scopegate/v1',
    kind: 'Policy',
    ...more,
    ...head,
    defaults: {
      anonymous: 'challenge',
      ...(isRecord(defaults) ? defaults : {}),
      ...(mount === undefined ? {} : { mount }),
    },
    routes,
  }
  return {
    file: document.file,
    value,
    diagnostics: [],
    locationOf: (path, part = 'value') => {
      const [section, index, ...rest] = path
      const operation = section === 'routes' && typeof index === 'number' ? operations[index] : undefined
      if (operation !== undefined)
        return document.locationOf(...locationIn(operation, rest, part, document.value))
      return document.locationOf([EXTENSION, ...path], part)
    },
  }
}

function toRoute(operation: Operation, name: string, isOpenByDefault: boolean): PlainMap {
  const { method, path, access, extension } = operation
  const { match, ...more } = extension
  return {
    name,
    match: { methods: [method], path, ...(isRecord(match) ? match : {}) },
    ...((access.anonymous === 'allow') === isOpenByDefault ? {} : { anonymous: access.anonymous }),
    ...(access.scopes === undefined ? {} : { scopes: access.scopes }),
    ...more,
    ...(match === undefined || isRecord(match) ? {} : { match }),
  }
}

function locationIn(
  operation: Operation,
  rest: YamlPath,
  part: 'key' | 'value',
  root: unknown,
): [path: YamlPath, part: 'key' | 'value'] {
  const [key, second] = rest
  const inExtension = own(operation.extension, String(key))
  if (
    inExtension !== undefined &&
    (key !== 'match' || !isRecord(inExtension) || own(inExtension, String(second)) !== undefined)
  )
    return [[...operation.at, EXTENSION, ...rest], part]
  if (key === 'match') return second === 'methods' ? [operation.at, 'key'] : [operation.pathAt, 'key']
  if (key === 'name') return [[...operation.at, 'operationId'], part]
  if (key === 'scopes') {
    const scope = own(operation.access.scopes, String(second)) as readonly string[] | undefined
    const index = rest[2]
    const name = typeof index === 'number' ? scope?.[index] : undefined
    return [findScope(root, operation.securityAt, name) ?? operation.securityAt, 'value']
  }
  return [operation.at, 'key']
}

function findScope(root: unknown, securityAt: YamlPath, name: string | undefined): YamlPath | undefined {
  let security = root
  for (const step of securityAt) security = own(security, String(step))
  if (!Array.isArray(security) || name === undefined) return undefined
  for (const [index, requirement] of security.entries()) {
    if (!isRecord(requirement)) continue
    for (const [scheme, scopes] of Object.entries(requirement)) {
      const position = Array.isArray(scopes) ? scopes.indexOf(name) : -1
      if (position >= 0) return [...securityAt, index, scheme, position]
    }
  }
  return undefined
}

/**
 * Formats a policy as a file in the layout of `fmt`: one line per key of a route.
 * @param comment the first line of the file, without `#`.
 */
export function writePolicy(policy: PlainMap, comment: string): string {
  const document = new Document(policy)
  const root = document.contents as unknown as YAMLMap
  for (const { key, value } of root.items) {
    const name = isScalar(key) ? key.value : undefined
    if (name === 'routes' && isSeq(value))
      for (const [index, route] of value.items.entries()) {
        if (index > 0) (route as { spaceBefore?: boolean }).spaceBefore = true
        if (isYamlMap(route)) flowBelow(route)
      }
    else if (isYamlMap(value)) flowBelow(value)
  }
  const text = `# ${comment}\n${document.toString({ lineWidth: 0 })}`
  const formatted = formatPolicy(text, 'the policy')
  if ('text' in formatted) return formatted.text
  throw new Error(`the created policy cannot be formatted: ${JSON.stringify(formatted)}`)
}

function flowBelow(map: YAMLMap): void {
  for (const { value } of map.items) if (isYamlMap(value) || isSeq(value)) value.flow = true
}
