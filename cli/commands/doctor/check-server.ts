import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { checkDocument, type ReadDocument, textMember, textsMember } from './check-document.ts'
import type { Examination } from './checks.ts'
import type { HttpFailure, HttpResponse } from './http-client.ts'

export type DiscoveredServer = {
  readonly url: string
  readonly json: Readonly<Record<string, unknown>>
  /** Undefined when the metadata does not contain `scopes_supported`, which is optional. RFC 8414 section 2. */
  readonly scopes: readonly string[] | undefined
}

/** Members that must be equal in both metadata documents, because a client can read either document. */
const SHARED = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  'jwks_uri',
] as const

/**
 * Checks both metadata documents of an issuer. RFC 8414 section 3, OpenID Connect Discovery 1.0 section 4.
 * @returns the first readable document. Undefined: no document is readable.
 */
export async function checkServer(
  issuer: string,
  { baseUrl, client, report }: Examination,
): Promise<DiscoveredServer | undefined> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const oauthUrl = origin + ENDPOINTS.authorizationServerMetadata + path
  const openidUrl = origin + path + ENDPOINTS.openidConfiguration
  const responses = [await client.send(oauthUrl), await client.send(openidUrl)]
  // The bundled authorization server publishes both documents. Another issuer may publish only one document.
  const isMissing = (response: HttpResponse | HttpFailure): boolean =>
    'status' in response && response.status === 404
  const isOptional = issuer !== baseUrl && !responses.every(isMissing)
  const [oauth, openid] = responses.map((response) =>
    isOptional && isMissing(response) ? undefined : checkDocument(response, 'server-metadata', report),
  )
  const found = [oauth, openid].filter((one) => one !== undefined)
  for (const document of found) checkOne(document)
  if (oauth !== undefined && openid !== undefined) compare(oauth, openid)
  const [first] = found
  if (first === undefined) return undefined
  const scopes = Object.hasOwn(first.json, 'scopes_supported')
    ? textsMember(first.json, 'scopes_supported')
    : undefined
  return { url: first.url, json: first.json, scopes }

  function checkOne({ url, json }: ReadDocument): void {
    const said = textMember(json, 'issuer')
    if (said === issuer) report.ok('issuer', url, issuer)
    else
      report.fault(
        'issuer',
        url,
        `\`issuer\` is ${said === undefined ? 'missing' : `"${said}"`}, but the resource metadata names "${issuer}"`,
        'set `issuers` in gateway.yaml and `issuer` in authorization-server.yaml to the same URL, byte for byte (RFC 8414 section 3.3)',
      )
    if (textsMember(json, 'code_challenge_methods_supported').includes('S256')) report.ok('pkce', url, 'S256')
    else
      report.fault(
        'pkce',
        url,
        'code_challenge_methods_supported lacks S256',
        'advertise S256: MCP clients require S256',
      )
    if (!textsMember(json, 'response_types_supported').includes('code'))
      report.fault(
        'server-metadata',
        url,
        'response_types_supported lacks code',
        'advertise the authorization code flow',
      )
  }

  function compare(one: ReadDocument, other: ReadDocument) {
    const apart = SHARED.filter((name) => textMember(one.json, name) !== textMember(other.json, name))
    if (apart.length === 0) return report.ok('server-metadata', one.url, 'both documents agree')
    report.fault(
      'server-metadata',
      other.url,
      `${apart.join(', ')}: different from ${one.url}`,
      'serve both from the same source: a client can read either document',
    )
  }
}

/**
 * Checks that the authorization server lists the scopes of the resource. `scopes_supported` is optional in both
 * documents: RFC 8414 section 2, RFC 9728 section 2.
 */
export function checkScopes(
  ofResource: readonly string[],
  { url, scopes }: Pick<DiscoveredServer, 'url' | 'scopes'>,
  { report }: Pick<Examination, 'report'>,
): void {
  if (scopes === undefined) {
    report.ok('scopes', url, 'the authorization server does not list its scopes (optional)')
    return
  }
  const unknown = ofResource.filter((scope) => !scopes.includes(scope))
  if (unknown.length === 0)
    report.ok(
      'scopes',
      url,
      `the authorization server offers all ${ofResource.length} scopes of the resource`,
    )
  else
    report.fault(
      'scopes',
      url,
      `${unknown.join(' ')}: required by the resource, but unknown to the authorization server`,
      'use the same catalogue for both (config/scopes.yaml), or correct the policies',
    )
}
