import type { CheckName, Report } from './checks.ts'
import type { HttpFailure, HttpResponse } from './http-client.ts'

/** A metadata document that is valid JSON. */
export type ReadDocument = HttpResponse & { readonly json: Readonly<Record<string, unknown>> }

/**
 * Checks the common requirements of metadata documents: 200, JSON, no cookies, readable by pages of any origin.
 * @returns the document. Undefined when further checks of the document are impossible.
 */
export function checkDocument(
  response: HttpResponse | HttpFailure,
  check: CheckName,
  report: Report,
): ReadDocument | undefined {
  const { url } = response
  if ('failed' in response) {
    report.fault(check, url, response.failed, 'route this URL to the gateway')
    return undefined
  }
  const { status, json } = response
  if (status !== 200) {
    const to = response.header('location')
    report.fault(
      check,
      url,
      `the status is ${status}${to === undefined ? '' : ` with a redirect to ${to}`}`,
      to === undefined
        ? 'this URL must return 200 without a token: check the proxy in front of the gateway and the host name'
        : 'clients do not follow a redirect of this document: serve the document at this URL',
    )
    return undefined
  }
  if (json === undefined) {
    report.fault(
      check,
      url,
      `the document is not a JSON object (Content-Type: ${response.header('content-type') ?? 'missing'})`,
      'another server responds at this URL: route the URL to the gateway',
    )
    return undefined
  }
  if (!(response.header('content-type') ?? '').startsWith('application/json'))
    report.fault(
      check,
      url,
      `the Content-Type is ${response.header('content-type') ?? 'missing'}`,
      'serve the document as application/json: strict clients reject other types',
    )
  if (response.header('set-cookie') !== undefined)
    report.warn(check, url, 'the response sets a cookie', 'remove the cookie: a cookie prevents caching')
  if (response.header('access-control-allow-origin') !== '*')
    report.fault(
      'cors',
      url,
      `Access-Control-Allow-Origin is ${response.header('access-control-allow-origin') ?? 'missing'}`,
      'send Access-Control-Allow-Origin: *: browser clients need the header to read the document',
    )
  return { ...response, json }
}

/** Returns a member of an untrusted document if it is a string, else undefined. */
export function textMember(document: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(document, name) ? document[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** Returns the strings of a list member. Any other value gives an empty list. */
export function textsMember(document: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = Object.hasOwn(document, name) ? document[name] : undefined
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
