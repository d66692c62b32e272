import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AuthorizationServerFile } from '../authorization-server/authorization-server-file.ts'
import { CHECKS } from '../cli/commands/doctor/checks.ts'
import { COMMANDS } from '../cli/commands.ts'
import { GatewayFile } from '../gateway/config/gateway-file.ts'
import { UpstreamsFile } from '../gateway/config/upstreams-file.ts'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../oauth/endpoints.ts'
import { ScopeCatalogueFile } from '../platform/config/read-scope-catalogue.ts'
import { findPackageRoot } from '../platform/process/package-root.ts'
import { PolicyFileSchema } from '../policy-engine/format/policy-file.ts'
import { PolicyTestFileSchema } from '../policy-engine/format/policy-test-file.ts'
import { PresetsFile } from '../policy-engine/format/presets.ts'
import {
  allBraces,
  declarationOf,
  findDeclaration,
  keysOf,
  objectsIn,
  parseSource,
  type SourceNode,
} from './source-syntax.ts'

const ROOT = findPackageRoot()
export const SERVICES = ['gateway', 'authorization-server', 'platform', 'oauth', 'policy-engine']

/**
 * Returns every text on which scripts of operators and clients can depend, by kind, in sorted order. All texts come
 * from the code, so a renamed text has its new name.
 */
export function stableNames(): Readonly<Record<string, readonly string[]>> {
  const services = SERVICES.flatMap(sourcesBelow)
  const commands = sourcesBelow('cli')
  return sortEach({
    'Diagnostic codes': readdirSync(join(ROOT, 'docs/errors')).flatMap((file) =>
      matches(file, /^([A-Z]\d{3})\.md$/g),
    ),
    'Error codes of the gateway': stringsIn('oauth/error-body.ts', 'GatewayErrorCode'),
    'Error codes of the authorization server': authorizationServerErrors(),
    'Error codes of security events and of the management port': [
      ...unionsOf('gateway/tokens/revocation/verify-security-event.ts', 'EventFault').map((value) =>
        value.replace('err = ', ''),
      ),
      ...['platform/ops', 'platform/pages', 'gateway/admin', 'gateway/console']
        .flatMap(sourcesBelow)
        .flatMap(({ text }) => matches(text, /\berror: '(\w+)'/g)),
    ],
    'Error codes of the administration socket': administrationErrors(),
    'Decisions and reasons': unionsOf('gateway/observability/decision.ts', 'Decision'),
    'Rejections of the gateway': matches(
      read('policy-engine/decide/rejection.ts'),
      /readonly rejected: '(\w+)'/g,
    ),
    'Reasons of an invalid token': matches(
      read('policy-engine/decide/rejection.ts'),
      /readonly reason: '(\w+)'/g,
    ),
    'Fields of the access log': accessLogFields(),
    'Log events and their fields': logEvents([...services, ...commands]),
    'Fields of the audit log': auditFields(services),
    'Actions and reasons of the audit log': auditActions(services),
    Metrics: [...services, ...commands].flatMap(({ text }) => metricsIn(text)),
    'Fields of JSON output': jsonOutput(),
    'Checks of `scopegate doctor`': Object.keys(CHECKS),
    'Commands, options and exit codes': COMMANDS.flatMap((command) => [
      command.name,
      ...command.options.map(
        ({ name, choices }) =>
          `${command.name} --${name}${choices === undefined ? '' : ` = ${choices.join(' | ')}`}`,
      ),
      ...[2, ...Object.keys(command.exits)].map((code) => `${command.name}: exit code ${code}`),
    ]),
    'Keys of configuration files': [
      ...schemaKeys('gateway.yaml', GatewayFile),
      ...schemaKeys('upstreams.yaml', UpstreamsFile),
      ...schemaKeys('authorization-server.yaml', AuthorizationServerFile),
      ...schemaKeys('scopes.yaml', ScopeCatalogueFile),
      ...schemaKeys('presets.yaml', PresetsFile),
    ],
    'Keys of policy files': [
      ...schemaKeys('policy', PolicyFileSchema),
      ...schemaKeys('test', PolicyTestFileSchema),
    ],
    'Environment variables': environmentVariables([...services, ...commands]),
    Paths: [
      ...Object.values(ENDPOINTS),
      REVOCATION_STREAM_PATH,
      ...services.flatMap(({ text }) =>
        matches(
          text,
          /'(\/(?:\.well-known\/(?:scopegate\/)?[\w.-]+|livez|readyz|metrics|version|policies|reload|log-level|openapi\.json|auth\.md|llms\.txt|docs[\w/{}-]*))'/g,
        ),
      ),
    ],
  })
}

/** Kinds that docs/stable-names.md omits, because other pages list them. */
const ELSEWHERE = /^(Diagnostic codes|Commands|Keys)/

/** Returns the lists of docs/stable-names.md. */
export function stableNamesReference(): string {
  return Object.entries(stableNames())
    .filter(([kind]) => !ELSEWHERE.test(kind))
    .map(([kind, names]) => `### ${kind}\n\n\`\`\`text\n${names.join('\n')}\n\`\`\``)
    .join('\n\n')
}

type Source = { readonly file: string; readonly text: string }

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

export function sourcesBelow(folder: string): readonly Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ file: join(folder, name), text: read(join(folder, name)) }))
}

/** Returns the text of the first capturing group of each match. */
function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].flatMap(([, found]) => (found === undefined ? [] : [found]))
}

function sortEach(lists: Readonly<Record<string, readonly string[]>>): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(lists).map(([kind, list]) => [kind, [...new Set(list)].toSorted()]),
  )
}

/** Returns the string literals of a declaration. */
function stringsIn(file: string, name: string): readonly string[] {
  const strings = (nodes: readonly SourceNode[]): readonly string[] =>
    nodes.flatMap((node) => {
      if (node.kind === 'group') return strings(node.children)
      return node.kind === 'text' ? [node.text] : []
    })
  return strings(declarationOf(parseSource(read(file)), name))
}

/** Returns `member = value` for each string in the members of an object type. The members are unions of strings. */
function unionsOf(file: string, name: string): readonly string[] {
  const [members = []] = allBraces(declarationOf(parseSource(read(file)), name))
  let key = ''
  return members.flatMap((node, index) => {
    if (members[index - 1]?.text === 'readonly') key = node.text
    return node.kind === 'text' ? [`${key} = ${node.text}`] : []
  })
}

/**
 * Returns the error codes that the authorization server sends itself. The engine adds codes of RFC 6749, 7009, 9126 and
 * 9449.
 */
function authorizationServerErrors(): readonly string[] {
  return sourcesBelow('authorization-server').flatMap(({ text }) => [
    ...matches(text, /\berror: '([a-z_]+)'/g),
    ...matches(text, /\brejectToken\(\s*'([a-z_]+)'/g),
    ...matches(text, /readonly error: ((?:'[a-z_]+'(?: \| )?)+)/g).flatMap((union) =>
      matches(union, /'([a-z_]+)'/g),
    ),
    ...matches(text, /new errors\.([A-Z]\w+)\(/g).map((name) =>
      name.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase(),
    ),
  ])
}

function administrationErrors(): readonly string[] {
  const socket = read('authorization-server/administration/admin-socket.ts')
  const rejections = objectsIn(declarationOf(parseSource(socket), 'STATUS')).flatMap((object) =>
    keysOf(object),
  )
  return [...rejections, ...matches(socket, /\berror: '(\w+)'/g)]
}

function accessLogFields(): readonly string[] {
  const log = read('gateway/observability/access-log.ts')
  const route = declarationOf(parseSource(read('gateway/snapshot/snapshot.ts')), 'common')
  return [
    ...matches(log, /"([a-z_.]+)":/g),
    ...matches(log, /\bfield\('([a-z_.]+)'/g),
    ...objectsIn(route).flatMap((object) => keysOf(object).filter((key) => key.startsWith('logFields.'))),
  ].map((field) => field.replace(/^logFields\./, ''))
}

/** Fields that `platform/logging/failure-log.ts` adds to the log line of a failure. */
const FAILURE_FIELDS = ['count', 'err', 'request_id', 'seconds']

/** Returns `event: field, field` for each event of the log, except for `audit`. */
function logEvents(sources: readonly Source[]): readonly string[] {
  const events = new Map<string, Set<string>>()
  const add = (event: string, fields: readonly string[]): void => {
    events.set(event, (events.get(event) ?? new Set()).union(new Set(fields)))
  }
  for (const { text } of sources) {
    const nodes = /\bevent: '/.test(text) ? parseSource(text) : []
    const spreadObjects = (name: string) => objectsIn(findDeclaration(nodes, name) ?? [])
    for (const object of allBraces(nodes)) {
      const event = stringValue(object, 'event') ?? spreadEvent(object, spreadObjects)
      if (event === undefined || event === 'audit') continue
      const keys = keysOf(object, (name) => spreadObjects(name).flatMap((one) => keysOf(one)))
      add(event, keys.includes('message') ? failureFields(keys) : keys.filter((key) => key !== 'event'))
    }
    for (const event of matches(text, /\breport\('([a-z_]+)', /g))
      add(event, ['client.address', 'err', 'request_id'])
  }
  return [...events].map(([event, fields]) => `${event}: ${[...fields].toSorted().join(', ')}`)
}

/** Returns the event of an object that adds fields to a constant. Example: `{ ...FAILED, fields }`. */
function spreadEvent(
  object: readonly SourceNode[],
  spreadObjects: (name: string) => readonly (readonly SourceNode[])[],
): string | undefined {
  const [dots, name] = object
  if (dots?.text !== '...' || name === undefined || !/^[A-Z_]+$/.test(name.text)) return undefined
  return spreadObjects(name.text).flatMap((one) => stringValue(one, 'event') ?? [])[0]
}

/**
 * Returns the fields of a log line of the failure log: the members of `fields`, and the fields that the failure log
 * adds.
 */
function failureFields(keys: readonly string[]): readonly string[] {
  const added = keys.filter((key) => key.startsWith('fields.')).map((key) => key.slice('fields.'.length))
  return [...added, ...FAILURE_FIELDS]
}

/** Returns the fields of all audit lines. The line of one action contains some of these fields. */
function auditFields(sources: readonly Source[]): readonly string[] {
  const groups = (nodes: readonly SourceNode[]): readonly (readonly SourceNode[])[] =>
    nodes.flatMap((node, index) => {
      if (node.kind !== 'group') return []
      return nodes[index - 1]?.text === 'audit' ? [node.children] : groups(node.children)
    })
  const origin = declarationOf(parseSource(read('authorization-server/observe/observe-events.ts')), 'origin')
  const calls = sources.flatMap(({ text }) => (/\baudit\(/.test(text) ? groups(parseSource(text)) : []))
  const objects = [...calls.flatMap((call) => objectsIn(call)), ...objectsIn(origin)]
  return ['action', 'event', ...objects.flatMap((object) => keysOf(object))]
}

/** Returns the string value of a key of an object literal. */
function stringValue(object: readonly SourceNode[], key: string): string | undefined {
  const at = object.findIndex(({ text }, index) => text === key && object[index + 1]?.text === ':')
  const value = at === -1 ? undefined : object[at + 2]
  return value?.kind === 'text' ? value.text : undefined
}

function auditActions(sources: readonly Source[]): readonly string[] {
  const events = read('authorization-server/engine/engine-events.ts')
  const observed = read('authorization-server/observe/observe-events.ts')
  return [
    ...matches(events, /readonly (?:kind|reason): ((?:'\w+'(?: \| )?)+)/g).flatMap((union) =>
      matches(union, /'(\w+)'/g),
    ),
    ...matches(read('authorization-server/administration/administration.ts'), /^ {4}\| '(\w+)'$/gm),
    ...matches(read('platform/pages/console-sessions.ts'), /'(console_\w+)'/g),
    ...matches(observed, /\? '(\w+)' : event\.reason/g),
    ...matches(observed, /'((?:account|signing_key)_\w+)'/g),
    ...sources.flatMap(({ text }) => matches(text, /\baudit\('(\w+)'/g)),
  ].filter((action) => action !== 'rejected' && action !== 'failed' && action !== 'revoked')
}

/** Returns `name{label, label}` for each metric that the source registers. */
function metricsIn(text: string): readonly string[] {
  if (!text.includes("'scopegate_")) return []
  const nodes = parseSource(text)
  const inline = allBraces(nodes).flatMap((object) => {
    const name = stringValue(object, 'name')
    return name?.startsWith('scopegate_') === true ? [[name, labelsIn(object)] as const] : []
  })
  const found = new Map(inline)
  // A helper function registers a metric. The first argument of the helper is the name of the metric.
  for (const [, helper = '', name = ''] of text.matchAll(/\b(\w+)\(\s*'(scopegate_\w+)'/g))
    found.set(name, labelsOfHelper(nodes, helper))
  for (const [, labels = '', name = ''] of text.matchAll(/Histogram<([^>]+)>\(\{\s*name: '(scopegate_\w+)'/g))
    found.set(name, matches(labels, /'(\w+)'/g))
  return [...found].map(([name, labels]) => `${name}{${labels.toSorted().join(', ')}}`)
}

/**
 * Returns the labels of the metric that a helper function registers. The object with the key `name` contains the
 * labels.
 */
function labelsOfHelper(nodes: readonly SourceNode[], helper: string): readonly string[] {
  const options = allBraces(findDeclaration(nodes, helper) ?? []).find((object) =>
    keysOf(object).includes('name'),
  )
  return options === undefined ? [] : labelsIn(options)
}

function labelsIn(nodes: readonly SourceNode[]): readonly string[] {
  const at = nodes.findIndex(({ text }) => text === 'labelNames')
  const labels = nodes[at + 2]
  if (at !== -1 && labels?.kind === 'group')
    return labels.children.flatMap(({ kind, text }) => (kind === 'text' ? [text] : []))
  return nodes.flatMap((node) => (node.kind === 'group' ? labelsIn(node.children) : []))
}

/**
 * The declarations that create or describe JSON output. Each entry has the label in the list, the file, and the name of
 * the declaration.
 */
const JSON_OUTPUT = [
  ['check', 'cli/commands/check/render-json.ts', 'renderJson'],
  ['check.summary', 'cli/commands/check/report.ts', 'CheckSizes'],
  ['problem', 'cli/commands/check/render-json.ts', 'problemToJson'],
  ['problem', 'cli/commands/check/render-json.ts', 'locationToJson'],
  ['diff.changes', 'cli/commands/diff/compare-policies.ts', 'Change'],
  ['doctor.findings', 'cli/commands/doctor/checks.ts', 'Finding'],
  ['explain', 'gateway/simulate/explanation-json.ts', 'explanationJson'],
  ['explain.answer', 'gateway/simulate/explanation-json.ts', 'responseJson'],
  ['fmt.files', 'cli/commands/fmt/fmt.ts', 'Outcome'],
  ['test', 'cli/commands/test/test.ts', 'toJson'],
  ['token', 'cli/commands/token/token.ts', 'IssuedToken'],
  ['GET /policies', 'gateway/admin/describe-policies.ts', 'describePolicies'],
  ['POST /reload', 'gateway/admin/policy-endpoints.ts', 'reloadResponse'],
  ['POST /reload.diagnostics', 'gateway/admin/policy-endpoints.ts', 'toJson'],
  ['GET /log-level', 'platform/logging/log-level.ts', 'ActiveLogLevel'],
  ['error body', 'oauth/error-body.ts', 'ErrorBody'],
  ['resource metadata', 'oauth/metadata.ts', 'ProtectedResourceMetadata'],
] as const

/** The files that pass an object to `JSON.stringify()`, by the name of the command. */
const JSON_FILES = {
  usage: 'cli/usage-error.ts',
  doctor: 'cli/commands/doctor/doctor.ts',
  routes: 'cli/commands/routes/routes.ts',
  diff: 'cli/commands/diff/run-diff.ts',
  fmt: 'cli/commands/fmt/fmt.ts',
  init: 'cli/commands/init/init.ts',
  import: 'cli/commands/import/run-import.ts',
  'import --check': 'cli/commands/check/check-drift.ts',
  'account add': 'cli/commands/account/add-account.ts',
  'keys list': 'cli/commands/keys/list-keys.ts',
  'keys rotate': 'cli/commands/keys/rotate-keys.ts',
  'keys retire': 'cli/commands/keys/retire-keys.ts',
} as const

function jsonOutput(): readonly string[] {
  const declared = JSON_OUTPUT.flatMap(([label, file, name]) => {
    const found = declarationOf(parseSource(read(file)), name)
    const [members] = found[0]?.text === 'type' ? allBraces(found) : []
    const objects = members === undefined ? objectsIn(found) : [members]
    const values = members === undefined ? [] : unionsOf(file, name)
    return [...objects.flatMap((object) => keysOf(object)), ...values].map((key) => `${label}: ${key}`)
  })
  const printed = Object.entries(JSON_FILES).flatMap(([label, file]) =>
    stringified(parseSource(templatesOpened(read(file)))).flatMap((object) =>
      keysOf(object).map((key) => `${label}: ${key}`),
    ),
  )
  const fields = [...declared, ...printed].filter((field) => !/^POST \/reload: (status|body)$/.test(field))
  return fields.map((field) => field.replace('POST /reload: body.', 'POST /reload: '))
}

/** Removes the template quotes around `JSON.stringify()`, so that parseSource() does not ignore its argument. */
function templatesOpened(text: string): string {
  return text.replace(/`\$\{(JSON\.stringify\(.*\))\}\\n`/g, '$1')
}

function stringified(nodes: readonly SourceNode[]): readonly (readonly SourceNode[])[] {
  return nodes.flatMap((node, index) => {
    if (node.kind !== 'group') return []
    const [first] = node.children
    const isPrinted = nodes[index - 1]?.text === 'stringify' && first?.kind === 'group' && first.text === '{'
    return isPrinted ? [first.children] : stringified(node.children)
  })
}

type Schema = {
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Returns each key of a schema with its path: `*` for a name that the user chooses, `[]` for an item of a list. */
function schemaKeys(file: string, schemaAtPath: object, path = ''): readonly string[] {
  const schema: Schema = schemaAtPath
  const below = (key: string) => (path === '' ? key : `${path}.${key}`)
  const free = [...Object.values(schema.patternProperties ?? {}), schema.additionalProperties].flatMap(
    (one) => (typeof one === 'object' ? [one] : []),
  )
  return [
    ...(schema.enum === undefined ? [] : [`${file}: ${path} = ${schema.enum.join(' | ')}`]),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, value]) => [
      `${file}: ${below(key)}`,
      ...schemaKeys(file, value, below(key)),
    ]),
    ...free.flatMap((one) => schemaKeys(file, one, below('*'))),
    ...(schema.items === undefined ? [] : schemaKeys(file, schema.items, `${path}[]`)),
    ...(schema.anyOf ?? []).flatMap((one) => schemaKeys(file, one, path)),
  ]
}

/**
 * Returns the environment variables that the code reads by name. Omits the variables `SCOPEGATE_<KEY>`, which set the
 * keys of a configuration file.
 */
function environmentVariables(sources: readonly Source[]): readonly string[] {
  const texts = [...sources.map(({ text }) => text), read('bin/scopegate.js')]
  return texts.flatMap((text) => [
    ...matches(text, /\benv(?:\.|\[')([A-Z][A-Z0-9_]+)/g),
    ...matches(text, /const SHORT_FORMS\b[^\n]* = ([^\n]*)/g).flatMap((forms) => matches(forms, /(\w+): '/g)),
    ...matches(text, /const KNOWN_ELSEWHERE = \['(\w+)'/g),
  ])
}
