/** Buckets of the OpenTelemetry conventions for HTTP durations. Seconds. */
export const HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/**
 * Returns the class of a status, such as `2xx`. Metrics use the class as a label, because one series per status would
 * create too many series.
 */
export function codeClass(status: number): string {
  return `${Math.floor(status / 100)}xx`
}

/** The methods of RFC 9110 section 9 and PATCH (RFC 5789): the known methods of the OpenTelemetry conventions. */
const KNOWN_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
])

/**
 * Returns the label of a method in metrics and spans. Clients can send any method, so all other methods share the label
 * `_OTHER`.
 */
export function methodLabel(method: string): string {
  return KNOWN_METHODS.has(method) ? method : '_OTHER'
}

/** Returns the method in the name of a span. Source: OpenTelemetry semantic conventions for HTTP spans. */
export function spanMethod(label: string): string {
  return label === '_OTHER' ? 'HTTP' : label
}
