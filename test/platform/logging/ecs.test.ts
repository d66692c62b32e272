import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ECS_NAMES, toEcsLines } from '../../../platform/logging/ecs.ts'
import { LogSink } from '../../../platform/logging/log-sink.ts'
import { createLogger, droppedLines, writeLines } from '../../../platform/logging/logger.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { stableNames } from '../../../scripts/stable-names.ts'

type Line = Readonly<Record<string, unknown>>

/** The fields of ECS 8.11 that the mapping uses. Source: https://www.elastic.co/docs/reference/ecs/ecs-field-reference */
const ECS_FIELDS = new Set([
  '@timestamp',
  'client.address',
  'ecs.version',
  'error.code',
  'error.message',
  'error.stack_trace',
  'error.type',
  'event.action',
  'event.dataset',
  'event.duration',
  'event.kind',
  'http.request.id',
  'http.request.method',
  'http.response.status_code',
  'log.level',
  'message',
  'service.name',
  'span.id',
  'trace.id',
  'url.path',
  'user.id',
  'user.name',
  'user_agent.original',
])
const COMMON = ['level', 'time', 'service', 'msg']
const ERROR_MEMBERS = ['type', 'message', 'stack', 'code', 'causeCode', 'errno', 'syscall', 'address', 'port']

/** The fields of each event of both services, by event. Source: the code of the services. */
function eventsWithFields(): ReadonlyMap<string, readonly string[]> {
  const names = stableNames()
  const listed = (names['Log events and their fields'] ?? []).map((text) => {
    const [event = '', fields = ''] = text.split(/: ?/)
    return [event, fields.split(', ').filter((field) => field !== '')] as const
  })
  const events = new Map<string, readonly string[]>(listed)
  events.set('access', names['Fields of the access log'] ?? [])
  events.set('audit', names['Fields of the audit log'] ?? [])
  return events
}

const toEcs = (line: Line): Line => JSON.parse(toEcsLines(`${JSON.stringify(line)}\n`))

/** Returns a line of the event with a different value for each field. */
function lineOf(event: string, fields: readonly string[]): Line {
  const line: Record<string, unknown> = {}
  for (const name of new Set([...COMMON, ...fields])) line[name] = `value of ${name}`
  // A line of this event has either `address` or `client.address`.
  if ('client.address' in line) delete line['address']
  line['event'] = event
  if ('duration_ms' in line) line['duration_ms'] = 1.5
  if ('err' in line)
    line['err'] = Object.fromEntries(ERROR_MEMBERS.map((name) => [name, `value of err.${name}`]))
  return line
}

const events = eventsWithFields()

t.test('each event keeps the values of all its fields in ECS, below ECS names or scopegate.*', async (t) => {
  t.ok(events.size > 100)
  for (const [event, fields] of events) {
    const line = lineOf(event, fields)
    const ecs = toEcs(line)
    const unknown = Object.keys(ecs).filter((name) => !ECS_FIELDS.has(name) && !name.startsWith('scopegate.'))
    t.strictSame(unknown, [], `${event}: names outside of ECS`)
    const { err, duration_ms: _duration, ...others } = line
    const values = [...Object.values(others), ...Object.values((err ?? {}) as Line)]
    // The action replaces the event `audit`.
    const kept = new Set([...Object.values(ecs), 'audit'])
    t.strictSame(
      values.filter((value) => !kept.has(value)),
      [],
      `${event}: lost values`,
    )
    if ('duration_ms' in line) t.equal(ecs['event.duration'], 1_500_000)
  }
})

t.test('no ECS name is the start of another name', async (t) => {
  const names = new Set<string>()
  for (const [event, fields] of events)
    for (const name of Object.keys(toEcs(lineOf(event, fields)))) names.add(name)
  for (const name of ERROR_MEMBERS) names.add(ECS_NAMES[`err.${name}`] ?? `scopegate.err.${name}`)
  const conflicts = [...names].filter((name) => [...names].some((other) => other.startsWith(`${name}.`)))
  // A location is an object with members such as `file`.
  t.strictSame(conflicts, [])
  t.ok(names.has('scopegate.upstream.name') && names.has('scopegate.upstream.status'))
})

t.test('each entry of the mapping belongs to a field of an event', async (t) => {
  const fields = new Set([...COMMON, 'event', ...[...events.values()].flat()])
  for (const name of ERROR_MEMBERS) fields.add(`err.${name}`)
  t.strictSame(
    Object.keys(ECS_NAMES).filter((name) => !fields.has(name)),
    [],
  )
})

t.test('access, audit and other lines have exactly these ECS fields', async (t) => {
  const common = { time: '2026-01-01T00:00:00.000Z', level: 'info', service: 'gateway' }
  const ecs = {
    '@timestamp': '2026-01-01T00:00:00.000Z',
    'log.level': 'info',
    'ecs.version': '8.11.0',
    'event.kind': 'event',
    'service.name': 'gateway',
  }
  t.strictSame(
    toEcs({
      ...common,
      event: 'access',
      request_id: 'r',
      trace_id: 't',
      span_id: 's',
      'http.route': '/a/{b}',
      route: 'p/r',
      upstream: 'api',
      'upstream.status': 200,
      duration_ms: 0.001,
    }),
    {
      ...ecs,
      'event.dataset': 'scopegate.access',
      'event.action': 'access',
      'event.duration': 1_000,
      'http.request.id': 'r',
      'trace.id': 't',
      'span.id': 's',
      'scopegate.http.route': '/a/{b}',
      'scopegate.route': 'p/r',
      'scopegate.upstream.name': 'api',
      'scopegate.upstream.status': 200,
    },
  )
  t.strictSame(toEcs({ ...common, event: 'audit', action: 'signed_in', msg: 'signed in', subject: 'x' }), {
    ...ecs,
    'event.dataset': 'scopegate.audit',
    'event.action': 'signed_in',
    message: 'signed in',
    'user.id': 'x',
  })
  const log = { ...ecs, 'event.dataset': 'scopegate.log' }
  t.strictSame(toEcs({ ...common, event: 'policy_warning', place: { file: 'a', line: 1 } }), {
    ...log,
    'event.action': 'policy_warning',
    'scopegate.place': { file: 'a', line: 1 },
  })
  t.strictSame(toEcs({ ...common, event: 'policy_source_invalid', place: 'a:1:2' }), {
    ...log,
    'event.action': 'policy_source_invalid',
    'scopegate.place.name': 'a:1:2',
  })
})

t.test('a logger with the format ecs converts its lines and the lines of writeLines()', async (t) => {
  let text = ''
  const sink = new LogSink({
    heldCharacters: 10_000,
    notice: () => '',
    tickMs: () => 0,
    write(bytes, done) {
      text += bytes.toString()
      done(null, bytes.length)
    },
  })
  const logger = createLogger({ level: 'info', service: 'test', format: 'ecs' }, sink)
  logger.warn({ event: 'x', err: Object.assign(new Error('m'), { code: 'EIO' }) }, 'text\nof two lines')
  writeLines(logger)('{"event":"access","url.path":"/a"}\n{"event":"access","url.path":"/b"}\n')
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
  t.match(lines, [
    {
      message: 'text\nof two lines',
      'error.type': 'Error',
      'error.message': 'm',
      'error.stack_trace': /ecs\.test/,
      'error.code': 'EIO',
    },
    { 'event.action': 'access', 'url.path': '/a' },
    { 'event.action': 'access', 'url.path': '/b' },
  ])
  writeLines(logger)(`${JSON.stringify({ event: 'x'.repeat(10_000) })}\n`)
  t.equal(droppedLines(logger), 1, 'the counter of the destination')
})

t.test('docs/logs.md lists the mapping', async (t) => {
  const page = readFileSync(join(findPackageRoot(), 'docs', 'logs.md'), 'utf8')
  const [, section = ''] = page.split('| field of the default format | name in ECS |')
  const rows = [...(section.split('\n\n', 1)[0] ?? '').matchAll(/^\| (`.*`) \| `(.*)` \|$/gm)]
  const listed = rows.flatMap(([, fields = '', name]) =>
    fields.split(', ').map((field) => [field.replaceAll('`', ''), name] as const),
  )
  t.strictSame(Object.fromEntries(listed), ECS_NAMES)
})
