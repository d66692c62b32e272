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
    return report.warn('clock', visit.url, 'its answers have no Date', 'let the proxy in front keep it')
  // `Date` has a resolution of one second.
  const apartMs = Math.abs(nowMs() - date)
  if (apartMs > APART_MS)
    return report.fault(
      'clock',
      visit.url,
      `it is ${Math.round(apartMs / 1000)} s away from the clock of this machine`,
      'synchronise both (NTP): tokens are judged as expired, or as not valid yet, by it',
    )
  report.ok('clock', visit.url, `within ${APART_MS / 1000} s of this machine's`)
}
