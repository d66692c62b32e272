import type { Examination } from './checks.ts'
import type { HttpResponse } from './http-client.ts'

/** A token that no issuer has issued. */
const BAD_TOKEN = 'scopegate-doctor-made-this-up'
const ORIGIN = { origin: 'https://scopegate-doctor.example' }

type Context = Examination & { readonly metadataUrl: string }

/** Checks a protected path as a client: the response to an invalid token, a preflight, and a token in the query. */
export async function checkChallenge(path: string, context: Context): Promise<void> {
  const { baseUrl, client, report } = context
  const url = baseUrl + path
  const response = await client.send(url, { headers: { ...ORIGIN, authorization: `Bearer ${BAD_TOKEN}` } })
  if ('failed' in response)
    return report.fault('challenge', url, response.failed, 'route this path to the gateway')
  if (response.status === 401) checkRejection(response, context)
  else
    report.fault(
      'challenge',
      url,
      `the response to an invalid token is ${response.status}, not 401`,
      response.status < 300
        ? 'REQUESTS WITH AN INVALID TOKEN SUCCEED: make sure that clients cannot bypass the gateway'
        : 'clients refresh their token only after a 401: check whether a proxy in front of the gateway changes the response',
    )
  checkExposed(response, context)
  await checkPreflight(url, context)
  await checkQuery(url, context)
}

/** Checks the rejection of an invalid token. Source: RFC 6750 section 3.1, RFC 9728 section 5.1. */
function checkRejection(response: HttpResponse, { metadataUrl, report }: Context) {
  const { url, json } = response
  const header = response.header('www-authenticate')
  if (header === undefined)
    return report.fault(
      'challenge',
      url,
      '401 without WWW-Authenticate',
      'configure the proxy in front of the gateway to forward the header: clients need the header to get a token',
    )
  const bearer = readChallenges(header)?.find(({ scheme }) => scheme === 'bearer')
  if (bearer === undefined)
    return report.fault(
      'challenge',
      url,
      `no valid Bearer challenge in: ${header}`,
      'make sure that no proxy in front of the gateway changes the challenge',
    )
  const { parameters } = bearer
  const actualUrl = parameters.get('resource_metadata')
  if (actualUrl !== metadataUrl)
    report.fault(
      'challenge',
      url,
      `resource_metadata is ${actualUrl === undefined ? 'missing' : `"${actualUrl}"`}, not "${metadataUrl}"`,
      'set baseUrl to the public URL: the challenge contains baseUrl',
    )
  if (parameters.get('error') !== 'invalid_token')
    report.fault(
      'challenge',
      url,
      `error is ${parameters.get('error') ?? 'missing'} for an invalid token, not invalid_token`,
      'return invalid_token: clients then refresh their token',
    )
  if (typeof json?.['error'] !== 'string')
    report.fault(
      'challenge',
      url,
      'the body has no JSON member `error`',
      'make sure that no proxy in front of the gateway replaces the body',
    )
  if (actualUrl === metadataUrl && parameters.get('error') === 'invalid_token')
    report.ok('challenge', url, '401 invalid_token with the URL of the metadata')
}

/** Without the exposed header name, a page can read the status 401 but not the challenge. */
function checkExposed(response: HttpResponse, { report }: Context): void {
  const exposed = (response.header('access-control-expose-headers') ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const origin = response.header('access-control-allow-origin')
  if (origin !== '*' && origin !== ORIGIN.origin)
    report.fault(
      'cors',
      response.url,
      `Access-Control-Allow-Origin is ${origin ?? 'missing'} on an error`,
      'send the header on every response: without the header, browsers hide errors from pages',
    )
  else if (!exposed.includes('www-authenticate'))
    report.fault(
      'cors',
      response.url,
      'Access-Control-Expose-Headers lacks WWW-Authenticate',
      'expose the header on every response: browser clients need the header to start a sign-in',
    )
  else report.ok('cors', response.url, 'pages can read the challenge')
}

async function checkPreflight(url: string, { client, report }: Context): Promise<void> {
  const response = await client.send(url, {
    method: 'OPTIONS',
    headers: {
      ...ORIGIN,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    },
  })
  if ('failed' in response) return report.fault('cors', url, response.failed, 'route OPTIONS to the gateway')
  const allowed = (response.header('access-control-allow-headers') ?? '').toLowerCase()
  if (response.status >= 200 && response.status < 300 && /(?:^|[,\s])authorization(?:$|[,\s])/.test(allowed))
    return report.ok('cors', url, 'a preflight allows Authorization')
  report.fault(
    'cors',
    url,
    `the response to a preflight is ${response.status} and allows ${allowed === '' ? 'no headers' : allowed}`,
    'forward OPTIONS to the gateway without a token check: browsers send OPTIONS without a token',
  )
}

/**
 * Checks that the API rejects a token in the query (RFC 6750 section 2.3). A token in a URL would
 * appear in logs.
 */
async function checkQuery(url: string, { client, report }: Context): Promise<void> {
  const response = await client.send(`${url}?access_token=${BAD_TOKEN}`)
  if (!('failed' in response) && (response.status === 400 || response.status === 401))
    return report.ok('credentials', url, `a token in the URL is rejected with ${response.status}`)
  report.fault(
    'credentials',
    url,
    'failed' in response ? response.failed : `the response to a token in the URL is ${response.status}`,
    'reject such requests with 400: URLs appear in logs',
  )
}

type ReadChallenge = {
  /** In lower case. */
  readonly scheme: string
  readonly parameters: ReadonlyMap<string, string>
}

const PART = /\s*(?:,\s*)*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/gy

/**
 * Parses one or more challenges of a header, with quoted and plain values. A word without a value begins a challenge.
 * RFC 9110 section 11.6.1.
 * @returns undefined if the header is malformed.
 */
export function readChallenges(header: string): readonly ReadChallenge[] | undefined {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = []
  let read = 0
  for (const match of header.matchAll(PART)) {
    const [whole, name = '', quoted, plain] = match
    read += whole.length
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), parameters: new Map() })
    else {
      const parameters = challenges.at(-1)?.parameters
      if (parameters === undefined || parameters.has(name.toLowerCase())) return undefined
      parameters.set(name.toLowerCase(), value)
    }
  }
  return read === header.trimEnd().length && challenges.length > 0 ? challenges : undefined
}
