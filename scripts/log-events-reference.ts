import { table } from './schema-keys.ts'
import { SERVICES, sourcesBelow, stableNames } from './stable-names.ts'

/** The meaning of events whose message the code creates from parts, or that has a meaning only beside other lines. */
const MEANINGS: Readonly<Record<string, string>> = {
  access: 'a request ended',
  audit_lines_missing: 'audit lines are in the log instead',
  clock_differs: 'the clock differs from the clock of the store',
  config_warning: 'a configuration file has a warning',
  console: 'a library wrote to the console',
  console_error: 'a page, a sample or a revocation of the console failed',
  failed: 'a request at the authorization server failed',
  introspection_credentials_refused:
    'the issuer rejects the credentials of the gateway: requests that need introspection get 503',
  introspection_requests_rejected: 'the issuer rejects introspection requests',
  log_lines_dropped: 'log lines were lost',
  no_workers: 'the gateway got a signal to replace its workers, but workers is 1',
  openapi_unavailable: 'the OpenAPI document of an upstream cannot be fetched',
  overload: 'the overload level changed',
  page_failed: 'a page of the authorization server failed',
  policy_reload_failed: 'the policies on disk are invalid: the active policies stay',
  policy_source_invalid: 'a policy source is invalid',
  policy_warning: 'a policy has a warning',
  redis_given_up: 'requests do not wait for Redis until it responds',
  redis_unreachable: 'Redis cannot be reached',
  refused: 'the authorization server rejected a request; error is the code of the response',
  request_failed: 'a request caused an exception',
  revocations_connected: 'the gateway receives revocations over the channel',
  revocations_lost: 'the gateway receives no revocations over the channel until it connects again',
  security_event_refused: 'the gateway rejects a Security Event Token',
  serving: 'the gateway accepts requests on its public port',
  signing_keys_risk: 'a change of the signing keys can make servers reject valid tokens',
  stale_tokens_ended: 'the gateway accepted no token by an earlier check for 10 s',
  stop_failed: 'an error occurred while the service stopped',
  stopped: 'the service has stopped',
  stopping: 'the service stops',
  store_degraded: 'requests that need the store get 503',
  upstream_token_failed: 'the gateway cannot fetch a token for an upstream',
}

/**
 * Returns a table of all log events with their fields. The meaning is the message in the code.
 * @throws {Error} if an event has neither a constant message nor a meaning here, or if a meaning here has no event.
 */
export function logEventsReference(): string {
  const texts = [...SERVICES, 'cli'].flatMap(sourcesBelow).map(({ text }) => text)
  const events = (stableNames()['Log events and their fields'] ?? []).map((line) => line.split(': '))
  const rows = events.map(([event = '', fields = '']) => {
    const meaning = MEANINGS[event] ?? messageOf(event, texts)
    if (meaning === undefined) throw new Error(`scripts/log-events-reference.ts: add the meaning of ${event}`)
    const names = fields.split(', ').filter((name) => name !== '')
    return [`\`${event}\``, meaning, names.map((name) => `\`${name}\``).join(' ')]
  })
  const unknown = Object.keys(MEANINGS).filter((name) => !events.some(([event]) => event === name))
  if (unknown.length > 0)
    throw new Error(`scripts/log-events-reference.ts: no event has the name ${unknown.join(', ')}`)
  return table(['event', 'meaning', 'fields'], rows)
}

/** Returns the first constant message after the name of an event: the second argument, or the key `message`. */
function messageOf(event: string, texts: readonly string[]): string | undefined {
  const pattern = new RegExp(
    `event: '${event}'[\\s\\S]{0,500}?(?:\\},\\s*|message: )(?:'([^'$]+)'|"([^"$]+)")`,
  )
  return texts.flatMap((text) => {
    const [, single, double] = pattern.exec(text) ?? []
    return single ?? double ?? []
  })[0]
}
