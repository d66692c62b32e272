import { partOf, type SelfTime } from './read-self-times.ts'

const FUNCTIONS_SHOWN = 40
const WIDTH = 45

/**
 * Formats two tables for a terminal: self time by part of the program, and self time by function.
 * Each table shows shares, and microseconds per request.
 */
export function formatProfile(times: readonly SelfTime[], requests: number): string {
  const total = times.reduce((sum, { micros }) => sum + micros, 0)
  const line = (micros: number, name: string, location = ''): string =>
    `${((micros / total) * 100).toFixed(1).padStart(6)} % ${(micros / requests).toFixed(2).padStart(7)} µs  ${name.padEnd(WIDTH)} ${location}`.trimEnd()
  const parts = Map.groupBy(times, ({ location }) => partOf(location))
  const byPart = [...parts]
    .map(([part, members]) => ({ part, micros: members.reduce((sum, { micros }) => sum + micros, 0) }))
    .toSorted((a, b) => b.micros - a.micros)
  return [
    'self time by component: share, and time per request',
    ...byPart.map(({ part, micros }) => line(micros, part)),
    '',
    'self time by function: share, and time per request',
    ...times
      .slice(0, FUNCTIONS_SHOWN)
      .map(({ function: name, location, micros }) => line(micros, name, location)),
  ].join('\n')
}
