import { textMember } from './check-document.ts'
import type { DiscoveredServer } from './check-server.ts'
import type { Examination } from './checks.ts'
import type { HttpRequest, HttpResponse } from './http-client.ts'

/** A request that changes nothing at an endpoint, and the check of its response. */
type Probe = {
  readonly member: string
  readonly toRequest: (url: string) => { readonly url: string; readonly request: HttpRequest }
  /** Returns the problem with the response. Undefined without a problem. */
  wrong(response: HttpResponse): string | undefined
  readonly isOptional?: true
}

const emptyForm = (url: string) => ({
  url,
  request: {
    method: 'POST' as const,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: '',
  },
})

/** RFC 6749 section 5.2: an error response is JSON with a reason. */
function isOauthError(response: HttpResponse): string | undefined {
  if (![400, 401].includes(response.status))
    return `the response to an empty request is ${response.status}, not 400 or 401`
  return typeof response.json?.['error'] === 'string' ? undefined : 'an error response without `error`'
}

const PROBES: readonly Probe[] = [
  {
    member: 'authorization_endpoint',
    toRequest: (url) => ({ url, request: { headers: { accept: 'text/html' } } }),
    wrong: ({ status, header }) => {
      if (status !== 400) return `the response to a request without parameters is ${status}, not a page (400)`
      if (header('access-control-allow-origin') !== undefined)
        return 'pages of other origins can read the response: remove the CORS headers'
      return undefined
    },
  },
  {
    member: 'token_endpoint',
    toRequest: emptyForm,
    wrong: (response) =>
      isOauthError(response) ??
      (/no-store/.test(response.header('cache-control') ?? '')
        ? undefined
        : 'responses can be cached: Cache-Control lacks no-store (RFC 6749 section 5.1)'),
  },
  {
    member: 'registration_endpoint',
    toRequest: (url) => ({
      url,
      request: { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' },
    }),
    wrong: isOauthError,
    isOptional: true,
  },
  { member: 'revocation_endpoint', toRequest: emptyForm, wrong: isOauthError, isOptional: true },
  { member: 'introspection_endpoint', toRequest: emptyForm, wrong: isOauthError, isOptional: true },
  {
    member: 'pushed_authorization_request_endpoint',
    toRequest: emptyForm,
    wrong: isOauthError,
    isOptional: true,
  },
  {
    member: 'userinfo_endpoint',
    toRequest: (url) => ({ url, request: { headers: { authorization: 'Bearer scopegate-doctor' } } }),
    wrong: ({ status, header }) =>
      status === 401 && header('www-authenticate') !== undefined
        ? undefined
        : `the response to an invalid token is ${status}${status === 401 ? ' without a challenge' : ', not 401'}`,
    isOptional: true,
  },
  {
    member: 'jwks_uri',
    toRequest: (url) => ({ url, request: {} }),
    wrong: ({ status, json }) => {
      if (status !== 200) return `the status is ${status}, not 200`
      const keys = json?.['keys']
      if (!Array.isArray(keys)) return 'the document is not a JWK Set'
      const isPrivate = keys.some(
        (key) => typeof key === 'object' && key !== null && ('d' in key || 'k' in key),
      )
      return isPrivate ? 'the document contains PRIVATE keys' : undefined
    },
    isOptional: true,
  },
]

/**
 * Sends a request that changes nothing to each endpoint of `PROBES`, and checks the response. Reports a missing
 * endpoint that is not optional.
 */
export async function checkEndpoints(
  { url: from, json }: DiscoveredServer,
  { client, report }: Examination,
): Promise<void> {
  for (const { member, toRequest, wrong, isOptional } of PROBES) {
    const address = textMember(json, member)
    if (address === undefined) {
      if (isOptional !== true)
        report.fault('endpoints', from, `${member} is missing`, `clients need ${member} to get a token`)
      continue
    }
    if (!/^https?:$/.test(URL.parse(address)?.protocol ?? '')) {
      report.fault(
        'endpoints',
        from,
        `${member} is "${address}"`,
        `set ${member} to an absolute http or https URL`,
      )
      continue
    }
    const { url, request } = toRequest(address)
    const response = await client.send(url, request)
    const problem = 'failed' in response ? response.failed : wrong(response)
    if (problem === undefined) report.ok('endpoints', address, member)
    else
      report.fault(
        'endpoints',
        address,
        `${member}: ${problem}`,
        'route this URL to the authorization server, or correct its metadata',
      )
  }
}
