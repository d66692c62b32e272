import type { Report } from './checks.ts'
import type { Visit } from './visit.ts'

/** Half of the clock difference that the gateway allows for issuers. Milliseconds. */
const APART_MS = 30_000

/** Compares the gateway's clock with the local one, using the `Date` of a response. RFC 9110 section 6.6.1. */
export function checkClock(
  visit: Visit,
  { report, nowMs }: { readonly report: Report; readonly nowMs: () => number },
) {
  const date = Date.parse(visit.header('date') ?? '')
  if (Number.isNaN(date))
    return report.warn(
      'clock',
      visit.url,
      'its responses have no Date header',
      'configure the proxy in front to keep it',
    )
  // `Date` has a resolution of one second.
  const apartMs = Math.abs(nowMs() - date)
  if (apartMs > APART_MS)
    return report.fault(
      'clock',
      visit.url,
      `it differs by ${Math.round(apartMs / 1000)} s from the clock of this machine`,
      'synchronize both clocks (NTP): token validation depends on the time',
    )
  report.ok('clock', visit.url, `differs by at most ${APART_MS / 1000} s from this machine`)
}
