/** Version of the Elastic Common Schema. */
const ECS_VERSION = '8.11.0'

/**
 * Names in the Elastic Common Schema for fields of log lines. Every other field has the prefix `scopegate.`. No name may
 * be the start of another name, because Elasticsearch cannot store an object and a value at the same path.
 */
export const ECS_NAMES: Readonly<Record<string, string>> = {
  time: '@timestamp',
  level: 'log.level',
  msg: 'message',
  service: 'service.name',
  request_id: 'http.request.id',
  trace_id: 'trace.id',
  span_id: 'span.id',
  'http.request.method': 'http.request.method',
  'http.response.status_code': 'http.response.status_code',
  'url.path': 'url.path',
  'client.address': 'client.address',
  address: 'client.address',
  'user_agent.original': 'user_agent.original',
  'error.type': 'error.type',
  'error.code': 'error.code',
  error: 'error.type',
  code: 'error.code',
  'err.type': 'error.type',
  'err.message': 'error.message',
  'err.stack': 'error.stack_trace',
  'err.code': 'error.code',
  subject: 'user.id',
  username: 'user.name',
  'auth.client_id': 'scopegate.client_id',
  upstream: 'scopegate.upstream.name',
  policy_hash: 'scopegate.policy.hash',
  previous_policy_hash: 'scopegate.policy.previous_hash',
  broken_policy_hash: 'scopegate.policy.broken_hash',
}

/** Streams of lines (`event.dataset`). All other lines belong to `scopegate.log`. */
const DATASETS: Readonly<Record<string, string>> = { access: 'scopegate.access', audit: 'scopegate.audit' }

const NANOSECONDS_PER_MS = 1_000_000

/** @param lines whole lines in the default format, each with its line break. */
export function toEcsLines(lines: string): string {
  return lines
    .slice(0, -1)
    .split('\n')
    .map((line) => `${JSON.stringify(toEcs(JSON.parse(line)))}\n`)
    .join('')
}

function toEcs(line: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { event, action, duration_ms: durationMs, err, place, ...others } = line
  const ecs: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(others)) ecs[ecsName(name)] = value
  for (const [name, value] of Object.entries(err ?? {})) ecs[ecsName(`err.${name}`)] = value
  // A location is an object in some events and a text in others.
  if (place !== undefined) ecs[typeof place === 'string' ? 'scopegate.place.name' : 'scopegate.place'] = place
  if (typeof durationMs === 'number') ecs['event.duration'] = Math.round(durationMs * NANOSECONDS_PER_MS)
  return {
    ...ecs,
    'ecs.version': ECS_VERSION,
    'event.kind': 'event',
    'event.dataset': DATASETS[String(event)] ?? 'scopegate.log',
    // The event of each audit line is `audit`, so its action is more exact.
    'event.action': action ?? event,
  }
}

function ecsName(name: string): string {
  return ECS_NAMES[name] ?? `scopegate.${name}`
}
