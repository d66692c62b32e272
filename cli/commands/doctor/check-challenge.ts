import type { Examination } from './checks.ts'
import { readChallenges } from './read-challenges.ts'
import type { Visit } from './visit.ts'

/** A token that no issuer has issued. */
const BAD_TOKEN = 'scopegate-doctor-made-this-up'
/** The origin of a cross-origin page. */
const ORIGIN = { origin: 'https://scopegate-doctor.example' }

type Context = Examination & { readonly metadataUrl: string }

/** Sends an invalid token to a protected path, and checks the response from a client's perspective. */
export async function checkChallenge(path: string, context: Context): Promise<void> {
  const { baseUrl, visitor, report } = context
  const url = baseUrl + path
  const answer = await visitor.visit(url, { headers: { ...ORIGIN, authorization: `Bearer ${BAD_TOKEN}` } })
  if ('failed' in answer)
    return report.fault('challenge', url, answer.failed, 'let the gateway answer this path')
  if (answer.status === 401) checkRefusal(answer, context)
  else
    report.fault(
      'challenge',
      url,
      `a token that nobody issued is answered with ${answer.status}, not 401`,
      answer.status < 300
        ? 'SOMETHING SERVES REQUESTS WITH A BAD TOKEN: do clients reach the upstream past the gateway?'
        : 'a client that gets no 401 does not refresh its token; is a proxy in front changing the answer?',
    )
  checkExposed(answer, context)
  await checkPreflight(url, context)
  await checkQuery(url, context)
}

/** RFC 6750 section 3.1, RFC 9728 section 5.1. */
function checkRefusal(answer: Visit, { metadataUrl, report }: Context) {
  const { url, json } = answer
  const header = answer.header('www-authenticate')
  if (header === undefined)
    return report.fault(
      'challenge',
      url,
      '401 without WWW-Authenticate',
      'let the proxy in front pass the header on: it is how clients find the way to a token',
    )
  const bearer = readChallenges(header)?.find(({ scheme }) => scheme === 'bearer')
  if (bearer === undefined)
    return report.fault(
      'challenge',
      url,
      `no Bearer challenge can be read in: ${header}`,
      'let the gateway write the challenge, and nobody after it change it',
    )
  const { parameters } = bearer
  const led = parameters.get('resource_metadata')
  if (led !== metadataUrl)
    report.fault(
      'challenge',
      url,
      `resource_metadata is ${led === undefined ? 'missing' : `"${led}"`}, not "${metadataUrl}"`,
      'set baseUrl to the public address: the challenge is made from it',
    )
  if (parameters.get('error') !== 'invalid_token')
    report.fault(
      'challenge',
      url,
      `error is ${parameters.get('error') ?? 'missing'} for a bad token, not invalid_token`,
      'answer invalid_token: on that clients refresh their token',
    )
  if (typeof json?.['error'] !== 'string')
    report.fault('challenge', url, 'the body says no `error` as JSON', 'let nobody replace the error body')
  if (led === metadataUrl && parameters.get('error') === 'invalid_token')
    report.ok('challenge', url, '401 invalid_token, and the way to the metadata')
}

/** Without the exposed header name, a page can read the status 401 but not the challenge. */
function checkExposed(answer: Visit, { report }: Context): void {
  const exposed = (answer.header('access-control-expose-headers') ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const origin = answer.header('access-control-allow-origin')
  if (origin !== '*' && origin !== ORIGIN.origin)
    report.fault(
      'cors',
      answer.url,
      `Access-Control-Allow-Origin is ${origin ?? 'missing'} on an error`,
      'errors need it like any answer: pages cannot see them otherwise',
    )
  else if (!exposed.includes('www-authenticate'))
    report.fault(
      'cors',
      answer.url,
      'Access-Control-Expose-Headers lacks WWW-Authenticate',
      'expose it on every answer: without it browser clients cannot start to sign in',
    )
  else report.ok('cors', answer.url, 'pages can read the challenge')
}

async function checkPreflight(url: string, { visitor, report }: Context): Promise<void> {
  const answer = await visitor.visit(url, {
    method: 'OPTIONS',
    headers: {
      ...ORIGIN,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    },
  })
  if ('failed' in answer) return report.fault('cors', url, answer.failed, 'answer OPTIONS')
  const allowed = (answer.header('access-control-allow-headers') ?? '').toLowerCase()
  if (answer.status >= 200 && answer.status < 300 && /(?:^|[,\s])authorization(?:$|[,\s])/.test(allowed))
    return report.ok('cors', url, 'a preflight allows Authorization')
  report.fault(
    'cors',
    url,
    `a preflight is answered with ${answer.status}, and allows ${allowed === '' ? 'no headers' : allowed}`,
    'let OPTIONS through to the gateway, without a token: browsers send none with it',
  )
}

/** This API rejects tokens in the query (RFC 6750 section 2.3), because URLs appear in logs. */
async function checkQuery(url: string, { visitor, report }: Context): Promise<void> {
  const answer = await visitor.visit(`${url}?access_token=${BAD_TOKEN}`)
  if (!('failed' in answer) && (answer.status === 400 || answer.status === 401))
    return report.ok('credentials', url, `a token in the address is refused with ${answer.status}`)
  report.fault(
    'credentials',
    url,
    'failed' in answer ? answer.failed : `a token in the address is answered with ${answer.status}`,
    'refuse it with 400: what stands in an address stands in logs',
  )
}
