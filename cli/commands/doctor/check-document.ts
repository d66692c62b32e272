import type { CheckName, Report } from './checks.ts'
import type { NoVisit, Visit } from './visit.ts'

/** A metadata document that is valid JSON. */
export type ReadDocument = Visit & { readonly json: Readonly<Record<string, unknown>> }

/**
 * Checks the common requirements of metadata documents: 200, JSON, no cookies, readable by pages of any origin.
 * @returns the document; undefined when the other checks cannot continue.
 */
export function checkDocument(
  answer: Visit | NoVisit,
  check: CheckName,
  report: Report,
): ReadDocument | undefined {
  const { url } = answer
  if ('failed' in answer) {
    report.fault(
      check,
      url,
      answer.failed,
      'let the gateway (or the proxy in front of it) serve this address',
    )
    return undefined
  }
  const { status, json } = answer
  if (status !== 200) {
    const to = answer.header('location')
    report.fault(
      check,
      url,
      `${status}${to === undefined ? '' : ` to ${to}`}`,
      to === undefined
        ? 'this address must answer 200 without a token: is it kept back by a proxy, or on another host?'
        : 'clients do not follow redirects here: answer at this address',
    )
    return undefined
  }
  if (json === undefined) {
    report.fault(
      check,
      url,
      `not a JSON object, but ${answer.header('content-type') ?? 'something without a type'}`,
      'something else answers at this address: route it to the gateway',
    )
    return undefined
  }
  if (!(answer.header('content-type') ?? '').startsWith('application/json'))
    report.fault(
      check,
      url,
      `its type is ${answer.header('content-type') ?? 'missing'}`,
      'serve it as application/json: strict clients refuse anything else',
    )
  if (answer.header('set-cookie') !== undefined)
    report.warn(check, url, 'it sets a cookie', 'a public document needs none; it keeps caches from working')
  if (answer.header('access-control-allow-origin') !== '*')
    report.fault(
      'cors',
      url,
      `Access-Control-Allow-Origin is ${answer.header('access-control-allow-origin') ?? 'missing'}`,
      'answer with Access-Control-Allow-Origin: *, or clients in browsers cannot read it',
    )
  return { ...answer, json }
}
