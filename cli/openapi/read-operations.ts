import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { parseMount } from '../../policy-engine/load/mount.ts'
import { followReference } from './follow-reference.ts'
import { own, type PlainMap } from './plain-data.ts'
import { readPrefix } from './read-prefix.ts'
import { type OperationAccess, readSecurity, type UnusedAlternative } from './read-security.ts'
import { toTemplate } from './to-template.ts'

/** One operation of a contract, in the terms of policies. */
export type Operation = {
  readonly operationId: string | undefined
  /** In upper case. */
  readonly method: string
  /** The path in the contract, without the path of a server. */
  readonly written: string
  /** A path template of a policy: `match.path`. */
  readonly path: string
  /** The path that clients send: `path` with the mount. */
  readonly servedPath: string
  readonly access: OperationAccess
  readonly extension: PlainMap
  /** Locations of the operation, its path, and its security requirements. */
  readonly at: YamlPath
  readonly pathAt: YamlPath
  readonly securityAt: YamlPath
}

export type ContractChoices = {
  /** The security scheme whose alternatives are used. */
  readonly scheme?: string | undefined
  /** Prefix of all paths. Overrides the top-level servers. */
  readonly serverPath?: string | undefined
  /** The mount of the policy. Overrides the top-level `x-scopegate`. */
  readonly mount?: string | undefined
  readonly renames?: ReadonlyMap<string, string>
  readonly skipUnsupported?: boolean
  readonly withEntries?: boolean
}

/** A skipped operation or path, with the code of its first problem. */
export type SkippedOperation = { readonly operation: string; readonly code: string }

/** The contract key for rules that OpenAPI cannot express. */
export const EXTENSION = 'x-scopegate'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const OTHER_FIELDS = ['$ref', 'summary', 'description', 'servers', 'parameters']

/**
 * Reads the operations of an OpenAPI 3.0 or 3.1 document, in the order of the document. If a policy cannot express an
 * operation, reports an error with the line of the operation.
 * Codes: O003 a different kind of document, O004 an unresolved reference, O005 a wrong structure, O101 path, O102
 * method, O103 security, O104 servers, O105 (note) a renamed parameter, O107 (note) undeclared security, O108 (note) a
 * skipped security alternative.
 */
export function readOperations(
  document: YamlDocument,
  choices: ContractChoices = {},
): {
  readonly operations: readonly Operation[]
  readonly diagnostics: readonly Diagnostic[]
  /** Empty unless `skipUnsupported` is set. */
  readonly skipped: readonly SkippedOperation[]
} {
  const root = document.value
  const wrongKind = checkKind(document)
  if (wrongKind !== undefined) return { operations: [], diagnostics: [wrongKind], skipped: [] }
  const diagnostics: Diagnostic[] = []
  const operations: Operation[] = []
  const skipped: SkippedOperation[] = []
  /**
   * Returns true when there are errors since `before`. With `skipUnsupported`, moves these errors to an entry of
   * `skipped`.
   */
  const isUnsupported = (operation: string, before: number): boolean => {
    const found = diagnostics.slice(before)
    const [first] = found.filter(({ severity }) => severity === 'error')
    if (first === undefined) return false
    if (choices.skipUnsupported !== true) return true
    diagnostics.splice(before, found.length)
    skipped.push({ operation, code: first.code })
    return true
  }
  const say = (code: string, message: string, at: YamlPath, hint?: string, part: 'key' | 'value' = 'value') =>
    diagnostics.push(diagnostic(code, message, document.locationOf(at, part), { hint }))
  const paths = own(root, 'paths')
  if (paths !== undefined && !isRecord(paths)) say('O005', 'paths must be a map', ['paths'])
  for (const [written, item] of Object.entries(isRecord(paths) ? paths : {})) {
    if (written.startsWith('x-')) continue
    const pathAt: YamlPath = ['paths', written]
    const before = diagnostics.length
    const found = followReference(root, pathAt)
    if ('problem' in found) {
      say('O004', found.problem, found.path, found.hint)
      isUnsupported(written, before)
      continue
    }
    const beside =
      isRecord(item) && found.path !== pathAt ? Object.keys(item).filter((key) => !isSilent(key)) : []
    if (beside[0] !== undefined)
      say(
        'O004',
        `keys beside $ref have no effect: ${beside.join(', ')}`,
        [...pathAt, beside[0]],
        'move these keys to the referenced path',
        'key',
      )
    if (!isRecord(found.value)) {
      say('O005', 'a path must be a map of methods', pathAt)
      isUnsupported(written, before)
      continue
    }
    if (isUnsupported(written, before) && choices.skipUnsupported === true) continue
    for (const [method, operation] of Object.entries(found.value)) {
      const at = [...found.path, method]
      if (OTHER_FIELDS.includes(method) || method.startsWith('x-')) continue
      const beforeOperation = diagnostics.length
      if (!METHODS.includes(method)) {
        const near = METHODS.find((one) => one === method.toLowerCase())
        const message = `a policy cannot use the method ${method}`
        say('O102', message, at, near === undefined ? `known: ${METHODS.join(', ')}` : `write ${near}`, 'key')
      } else if (!isRecord(operation)) say('O005', 'an operation must be a map', at)
      else
        operations.push(
          ...readOperation(
            document,
            { written, pathAt, itemAt: found.path, method, operation, item: found.value },
            choices,
            diagnostics,
          ),
        )
      isUnsupported(`${method.toUpperCase()} ${written}`, beforeOperation)
    }
  }
  if (operations.length === 0 && diagnostics.length === 0)
    say('O005', 'the contract describes no operation', ['paths'], 'a policy needs a route', 'key')
  const undeclared = operations.filter(
    ({ access, extension }) => access.isUndeclared && !Object.hasOwn(extension, 'anonymous'),
  )
  const [first] = undeclared
  if (first !== undefined)
    diagnostics.push(
      diagnostic(
        'O107',
        `${undeclared.length === 1 ? '1 operation declares' : `${undeclared.length} operations declare`} no security: their routes challenge anonymous callers`,
        document.locationOf(first.at, 'key'),
        { severity: 'note', hint: 'for public operations write security: [] in the contract' },
      ),
    )
  return { operations, diagnostics: eachOnce(diagnostics), skipped }
}

/** Removes duplicate problems that several operations of one path share. */
function eachOnce(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const keyOf = ({ code, message, location }: Diagnostic) =>
    `${code} ${location.line}:${location.column} ${message}`
  return [...new Map(diagnostics.map((one) => [keyOf(one), one])).values()]
}

function isSilent(key: string): boolean {
  return (
    key === '$ref' ||
    key === 'summary' ||
    key === 'description' ||
    key === 'parameters' ||
    key.startsWith('x-')
  )
}

function checkKind(document: YamlDocument): Diagnostic | undefined {
  const { value } = document
  const unsupported = (message: string, hint: string, at: YamlPath) =>
    diagnostic('O003', message, document.locationOf(at), { hint })
  if (!isRecord(value))
    return unsupported('this is not an OpenAPI document', 'it must start with "openapi": "3.1.0"', [])
  if (Object.hasOwn(value, 'swagger'))
    return unsupported(
      'this is Swagger 2.0',
      'convert the document to OpenAPI 3 first, for example with swagger2openapi',
      ['swagger'],
    )
  const version = own(value, 'openapi')
  if (version === undefined)
    return unsupported(
      'the key "openapi" is missing',
      'an OpenAPI document must start with "openapi": "3.1.0"',
      [],
    )
  if (typeof version !== 'string' || !/^3\.[01]\.\d+$/.test(version))
    return unsupported(`OpenAPI ${JSON.stringify(version)} is not supported`, 'known: 3.0 and 3.1', [
      'openapi',
    ])
  return undefined
}

function readOperation(
  document: YamlDocument,
  source: {
    readonly written: string
    readonly pathAt: YamlPath
    readonly itemAt: YamlPath
    readonly method: string
    readonly operation: PlainMap
    readonly item: PlainMap
  },
  choices: ContractChoices,
  diagnostics: Diagnostic[],
): readonly Operation[] {
  const { written, pathAt, itemAt, method, operation } = source
  const root = document.value
  const at: YamlPath = [...itemAt, method]
  const before = diagnostics.length
  const say = (
    code: string,
    message: string,
    where: YamlPath,
    hint: string,
    part: 'key' | 'value' = 'value',
  ) => diagnostics.push(diagnostic(code, message, document.locationOf(where, part), { hint }))
  const extension = own(operation, EXTENSION) ?? {}
  if (!isRecord(extension)) {
    say('O005', `${EXTENSION} must be a map of keys of a route`, [...at, EXTENSION], 'write { key: value }')
    return []
  }
  const access = readAccess(root, operation, at, choices)
  if ('problem' in access && !(Object.hasOwn(extension, 'scopes') && Object.hasOwn(extension, 'anonymous')))
    say('O103', access.problem, access.where, access.hint)
  if (!('problem' in access) && !Object.hasOwn(extension, 'scopes'))
    for (const one of access.unused) diagnostics.push(noteUnused(one))

  const byHand = own(own(extension, 'match'), 'path')
  const path = typeof byHand === 'string' ? { path: byHand } : readPath(root, source, at)
  if ('problem' in path)
    say(path.code, path.problem, path.where, path.hint, path.code === 'O101' ? 'key' : 'value')
  else if ('renamed' in path)
    for (const [from, to] of path.renamed)
      diagnostics.push(
        diagnostic(
          'O105',
          `the parameter {${from}} has the name {${to}} in the policy`,
          document.locationOf(pathAt, 'key'),
          {
            severity: 'note',
          },
        ),
      )
  const failed = diagnostics.slice(before).some((one) => one.severity === 'error')
  if (failed || 'problem' in path) return []
  const id = own(operation, 'operationId')
  return [
    {
      operationId: typeof id === 'string' ? id : undefined,
      method: method.toUpperCase(),
      written,
      path: path.path,
      servedPath: `${readMountPrefix(own(extension, 'mount') ?? choices.mount ?? own(own(own(root, EXTENSION), 'defaults'), 'mount'))}${path.path}`,
      access:
        'problem' in access
          ? { scopes: undefined, anonymous: 'challenge', isUndeclared: false, unused: [] }
          : access,
      extension,
      at,
      pathAt,
      securityAt: securityPath(operation, at),
    },
  ]

  function noteUnused({ scheme, scopes, reason, canBeChosen, at: where }: UnusedAlternative): Diagnostic {
    const said = scopes.length === 0 ? 'no scopes' : scopes.join(', ')
    const message = `${method.toUpperCase()} ${written}: the alternative ${scheme} (${said}) is not used: ${reason}`
    return diagnostic('O108', message, document.locationOf([...securityPath(operation, at), ...where]), {
      severity: 'note',
      hint: canBeChosen ? `--scheme ${scheme} selects it` : undefined,
    })
  }

  function readPath(
    root: unknown,
    { operation, item, itemAt }: { operation: PlainMap; item: PlainMap; itemAt: YamlPath },
    at: YamlPath,
  ) {
    const [servers, serversAt]: [unknown, YamlPath] = Object.hasOwn(operation, 'servers')
      ? [operation['servers'], [...at, 'servers']]
      : Object.hasOwn(item, 'servers')
        ? [item['servers'], [...itemAt, 'servers']]
        : [own(root, 'servers'), ['servers']]
    const isTop = serversAt.length === 1
    const prefix =
      isTop && choices.serverPath !== undefined ? { prefix: choices.serverPath } : readPrefix(servers)
    if ('problem' in prefix)
      return { ...prefix, code: 'O104', where: [...serversAt, ...prefix.at] as YamlPath }
    const template = toTemplate(written)
    if ('problem' in template) return { ...template, code: 'O101', where: pathAt }
    return { ...template, path: `${prefix.prefix}${template.path}` }
  }
}

/** Returns an empty prefix for an invalid mount, which the policy check reports. */
function readMountPrefix(mount: unknown): string {
  const parsed = typeof mount === 'string' ? parseMount(mount) : undefined
  return parsed !== undefined && 'prefix' in parsed ? parsed.prefix : ''
}

/**
 * Returns the location of an operation's security requirements: the requirements of the operation, else the top-level
 * requirements.
 */
function securityPath(operation: PlainMap, at: YamlPath): YamlPath {
  return Object.hasOwn(operation, 'security') ? [...at, 'security'] : ['security']
}

function readAccess(root: unknown, operation: PlainMap, at: YamlPath, { scheme, renames }: ContractChoices) {
  const isOwn = Object.hasOwn(operation, 'security')
  const securityAt = securityPath(operation, at)
  const schemeOf = (name: string) => {
    const found = followReference(root, ['components', 'securitySchemes', name])
    return 'problem' in found ? undefined : found.value
  }
  const access = readSecurity(isOwn ? operation['security'] : own(root, 'security'), schemeOf, {
    scheme,
    rename: (scope) => renames?.get(scope) ?? scope,
  })
  return 'problem' in access ? { ...access, where: [...securityAt, ...access.at] as YamlPath } : access
}
