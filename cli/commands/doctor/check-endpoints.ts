import { textMember } from './check-document.ts'
import type { ServerFound } from './check-server.ts'
import type { Examination } from './checks.ts'
import type { Question, Visit } from './visit.ts'

/** A request to an endpoint that changes nothing, and a check of the response. */
type Probe = {
  readonly member: string
  readonly ask: (url: string) => { readonly url: string; readonly question: Question }
  /** Returns the problem with the response. Undefined without a problem. */
  wrong(answer: Visit): string | undefined
  readonly isOptional?: true
}

const emptyForm = (url: string) => ({
  url,
  question: {
    method: 'POST' as const,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: '',
  },
})

/** RFC 6749 section 5.2: an error response is JSON with a reason. */
function isOauthError(answer: Visit): string | undefined {
  if (![400, 401].includes(answer.status))
    return `the response to an empty request is ${answer.status}, not 400 or 401`
  return typeof answer.json?.['error'] === 'string' ? undefined : 'an error response without `error`'
}

const PROBES: readonly Probe[] = [
  {
    member: 'authorization_endpoint',
    ask: (url) => ({ url, question: { headers: { accept: 'text/html' } } }),
    wrong: ({ status, header }) => {
      if (status !== 400) return `the response to a request without parameters is ${status}, not a page (400)`
      if (header('access-control-allow-origin') !== undefined)
        return 'pages of other origins can read it: remove its CORS headers'
      return undefined
    },
  },
  {
    member: 'token_endpoint',
    ask: emptyForm,
    wrong: (answer) =>
      isOauthError(answer) ??
      (/no-store/.test(answer.header('cache-control') ?? '')
        ? undefined
        : 'its responses can be cached: Cache-Control lacks no-store (RFC 6749 section 5.1)'),
  },
  {
    member: 'registration_endpoint',
    ask: (url) => ({
      url,
      question: { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' },
    }),
    wrong: isOauthError,
    isOptional: true,
  },
  { member: 'revocation_endpoint', ask: emptyForm, wrong: isOauthError, isOptional: true },
  { member: 'introspection_endpoint', ask: emptyForm, wrong: isOauthError, isOptional: true },
  { member: 'pushed_authorization_request_endpoint', ask: emptyForm, wrong: isOauthError, isOptional: true },
  {
    member: 'userinfo_endpoint',
    ask: (url) => ({ url, question: { headers: { authorization: 'Bearer scopegate-doctor' } } }),
    wrong: ({ status, header }) =>
      status === 401 && header('www-authenticate') !== undefined
        ? undefined
        : `the response to an invalid token is ${status}${status === 401 ? ' without a challenge' : ', not 401'}`,
    isOptional: true,
  },
  {
    member: 'jwks_uri',
    ask: (url) => ({ url, question: {} }),
    wrong: ({ status, json }) => {
      if (status !== 200) return `${status}, not 200`
      const keys = json?.['keys']
      if (!Array.isArray(keys)) return 'not a JWK Set'
      const isPrivate = keys.some(
        (key) => typeof key === 'object' && key !== null && ('d' in key || 'k' in key),
      )
      return isPrivate ? 'it publishes PRIVATE keys' : undefined
    },
    isOptional: true,
  },
]

/** Sends a request that changes nothing to every endpoint in the metadata. */
export async function checkEndpoints(
  { url: from, json }: ServerFound,
  { visitor, report }: Examination,
): Promise<void> {
  for (const { member, ask, wrong, isOptional } of PROBES) {
    const address = textMember(json, member)
    if (address === undefined) {
      if (isOptional !== true)
        report.fault('endpoints', from, `${member} is missing`, 'clients need it to get a token')
      continue
    }
    if (!/^https?:$/.test(URL.parse(address)?.protocol ?? '')) {
      report.fault('endpoints', from, `${member} is "${address}"`, 'set it to an absolute http or https URL')
      continue
    }
    const { url, question } = ask(address)
    const answer = await visitor.visit(url, question)
    const problem = 'failed' in answer ? answer.failed : wrong(answer)
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
