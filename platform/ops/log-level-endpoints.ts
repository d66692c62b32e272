import type { LogLevelControl } from '../logging/log-level.ts'
import { LOG_LEVELS, type LogLevel } from '../logging/log-schema.ts'
import type { ManagementEndpoint, ManagementResponse } from './management-endpoint.ts'

/** Longest duration of a changed log level: one day. Seconds. */
const MAX_DURATION_SECONDS = 86_400

/** Returns the endpoints that show and change the log level of a service. */
export function logLevelEndpoints(control: LogLevelControl): readonly ManagementEndpoint[] {
  const show = (): ManagementResponse => ({ status: 200, body: control.active })
  return [
    { method: 'GET', path: '/log-level', respond: show },
    {
      method: 'PUT',
      path: '/log-level',
      reads: 'json',
      async respond({ body, clientAddress }) {
        const change = readChange(body)
        if (typeof change === 'string')
          return { status: 400, body: { error: 'invalid_request', error_description: change } }
        await control.change({ ...change, clientAddress })
        return show()
      },
    },
  ]
}

/** Returns the change, or a text that states the error. */
function readChange(
  body: unknown,
): { readonly level: LogLevel; readonly durationSeconds: number | undefined } | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return 'The body must be a JSON object, such as {"level":"debug","durationSeconds":600}.'
  const { level: given, durationSeconds, ...others } = body as Readonly<Record<string, unknown>>
  if (Object.keys(others).length > 0) return 'The body may contain only "level" and "durationSeconds".'
  const level = LOG_LEVELS.find((known) => known === given)
  if (level === undefined) return `"level" must be one of: ${LOG_LEVELS.join(', ')}.`
  if (durationSeconds === undefined || isDuration(durationSeconds)) return { level, durationSeconds }
  return `"durationSeconds" must be a whole number from 1 to ${MAX_DURATION_SECONDS}.`
}

function isDuration(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_DURATION_SECONDS
}
