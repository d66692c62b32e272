import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { metadataUrlsOf, protectedResourceMetadataUrl } from '../../oauth/metadata.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { isRateLimited, type PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { ERRORS_PATH } from '../../policy-engine/match/free-pages.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'

/** Input of `/auth.md`. URLs have no trailing slash. */
export type AuthWalkthroughOptions = {
  readonly baseUrl: string
  readonly apiName: string
  /** Whether the gateway serves the pages below `/docs`. */
  readonly hasReference: boolean
  /** Whether the gateway forwards to the bundled authorization server, whose issuer is `baseUrl`. */
  readonly bundledAuthorizationServer: boolean
  readonly catalogue: ScopeCatalogue
  readonly routes: readonly PolicyRoute[]
  readonly resources: Resources
  readonly limits: {
    readonly bodyBytes: number
    readonly headersBytes: number
    readonly targetBytes: number
    readonly tokenBytes: number
  }
}

/**
 * Writes `/auth.md`: the steps to a first call, with commands that run unchanged (POSIX shell, curl, openssl). The
 * document is generated from the configuration, so the steps always match this gateway.
 */
export function authWalkthrough(options: AuthWalkthroughOptions): string {
  const { baseUrl, apiName, bundledAuthorizationServer } = options
  const example = exampleRoute(options)
  const scope = ['openid', ...exampleScopes(example)].join(' ')
  const call = `${baseUrl}${example?.path ?? '/'}`
  const sections = [
    `# ${oneLine(apiName)}: getting access

This page shows an agent or a developer how to call the API at \`${baseUrl}\`. ${
      bundledAuthorizationServer
        ? `The API accepts OAuth 2.1
access tokens. A client gets them with the authorization code grant and PKCE (S256), and renews them with a refresh token. A person
must give consent in a browser: there is no grant for identity assertions or service accounts. Run the commands in one shell, in this
order. They need \`curl\` and \`openssl\`.`
        : `The API accepts OAuth access tokens of the
issuers below, which other organizations may run. Their metadata describes how a client gets a token.`
    }`,
    ...(bundledAuthorizationServer
      ? [discover(options), ...steps({ baseUrl, scope, call })]
      : foreignSteps(options, call)),
    `## Scopes

Request only the scopes that you need. \`/openapi.json\` lists the scopes of each operation. \`scopes_supported\` of the resource metadata
lists the scopes to begin with, and can lack other scopes. A 403 \`insufficient_scope\` names the missing scope: authorize again with
your previous scopes and the missing scope.

| scope | grants |
| --- | --- |
${[...options.catalogue.values()].map((one) => `| \`${one.name}\` | ${cell(one.description)} |`).join('\n')}`,

    `## Errors

Bodies are JSON with \`error\`, \`error_description\` and, from the gateway, \`request_id\`. \`X-Scopegate-Error: 1\` marks errors of the gateway.${
      options.hasReference
        ? `
${baseUrl}${ERRORS_PATH} explains each code.`
        : ''
    }

| status, error | where | what to do |
| --- | --- | --- |
| 400 \`invalid_request\` | anywhere | correct the request as the description says |
${bundledAuthorizationServer ? BUNDLED_ERRORS : ''}| 401 \`unauthorized\` | API | send a token; \`WWW-Authenticate\` names the scope |
| 401 \`invalid_token\` | API | ${bundledAuthorizationServer ? 'refresh once, then start at the browser step' : 'get a new token from its issuer'} |
| 401 \`invalid_dpop_proof\`, \`use_dpop_nonce\` | API | for tokens that are bound to a key: create a new proof, with the nonce of \`DPoP-Nonce\` if the response has one |
| 401 \`insufficient_user_authentication\` | API | start at the browser step with \`acr_values\`, \`max_age\` and \`scope\` of the body: the person signs in again |
| 403 \`insufficient_scope\` | API | authorize again with the scopes in \`scope\` |
| 403 \`access_denied\` | API | the service denies the request: do not repeat it |
| 404 \`not_found\`, 405 \`method_not_allowed\` | API | check path and method in /openapi.json |
| 413 \`payload_too_large\` | API | send a smaller body |${tooManyRow(options)}
| 502, 503 \`upstream_unavailable\`, 504 \`upstream_timeout\` | API | wait for \`Retry-After\`, else 1, 2, 4 seconds; repeat only idempotent requests |`,

    `## Limits

The gateway limits a body to ${sizeText(options.limits.bodyBytes)} unless a route has its own limit. It limits the headers to ${sizeText(options.limits.headersBytes)}, the address to ${sizeText(options.limits.targetBytes)} and \`Authorization\` to ${sizeText(options.limits.tokenBytes)}.`,

    `## Contact

Contact the operator of \`${baseUrl}\`, and quote the \`request_id\` of a response.`,
  ]
  return `${sections.join('\n\n')}\n`
}

const BUNDLED_ERRORS = `| 400 \`invalid_redirect_uri\` | registration | use \`http://127.0.0.1:<port>/<path>\` |
| 400 \`invalid_grant\` | token endpoint | the code or the refresh token is not valid any more, or a parameter is wrong: start at the browser step |
`

function discover({ baseUrl, resources }: AuthWalkthroughOptions): string {
  return `## 1. Discover

\`\`\`sh
curl -sS ${protectedResourceMetadataUrl(baseUrl)}
curl -sS ${metadataUrlsOf(baseUrl)[0]}
\`\`\`

The first document names the authorization server (\`${baseUrl}\`). The second one lists its endpoints and scopes, and takes
precedence over this page. ${baseUrl}/openapi.json describes the API.${ownResources(resources)}`
}

/**
 * Returns the steps that apply to every issuer. The steps contain no commands for a flow or for registration, because
 * issuers support different flows.
 */
function foreignSteps({ baseUrl, resources }: AuthWalkthroughOptions, call: string): readonly string[] {
  const rows = resources.root.issuers.map(
    (issuer) => `| \`${issuer}\` | ${metadataUrlsOf(issuer).join(' | ')} |`,
  )
  return [
    `## 1. Discover

\`\`\`sh
curl -sS ${protectedResourceMetadataUrl(baseUrl)}
\`\`\`

The document names the issuers. An issuer publishes one or both of these documents:

| issuer | metadata (RFC 8414) | metadata (OpenID Connect) |
| --- | --- | --- |
${rows.join('\n')}

${baseUrl}/openapi.json describes the API.${ownResources(resources)}`,

    `## 2. Get a token

Get a token from one of the issuers, as its metadata describes. Name this API in the request: \`resource=${baseUrl}\` (RFC 8707), or
the parameter that the issuer uses for the audience.`,

    `## 3. Call

\`\`\`sh
curl -sS -H "Authorization: Bearer $ACCESS_TOKEN" ${call}
\`\`\``,
  ]
}

/**
 * Returns the section on parts of the API that need separate tokens. A client must name the part in its token request.
 */
function ownResources({ all, root }: Resources): string {
  const parts = all.filter((resource) => resource !== root)
  if (parts.length === 0) return ''
  const rows = parts.map((one) => `| \`${one.identifier}\` | ${cell(one.name)} | ${one.metadataUrl} |`)
  return `

These parts of the API require their own tokens. Follow the same steps with the metadata of the part. Send \`resource=…\` with the
identifier of the part in the authorization request and in the token request.

| resource | name | metadata |
| --- | --- | --- |
${rows.join('\n')}`
}

function steps(options: { baseUrl: string; scope: string; call: string }): readonly string[] {
  const { baseUrl, scope, call } = options
  return [
    `## 2. Register

Any client may register with a redirect URI on the loopback interface, \`http://127.0.0.1:<port>/<path>\`.

\`\`\`sh
REDIRECT_URI=http://127.0.0.1:53682/callback
REGISTRATION=$(curl -sS ${baseUrl}${ENDPOINTS.registration} -H 'Content-Type: application/json' \\
  -d '{"client_name":"My client","application_type":"native","redirect_uris":["'$REDIRECT_URI'"],"token_endpoint_auth_method":"none"}')
CLIENT_ID=$(printf '%s' "$REGISTRATION" | sed -n 's/.*"client_id":"\\([^"]*\\)".*/\\1/p')
\`\`\`

Other redirect URIs are rejected with 400 \`{"error":"invalid_redirect_uri","error_description":"…"}\`. A fixed HTTPS callback
needs an integration that the operator registers.

A client with a Client ID Metadata Document does not register if the metadata of the authorization server has
\`client_id_metadata_document_supported\`. Its \`client_id\` is the URL of the document.`,

    `## 3. Send the user to the browser

\`\`\`sh
CODE_VERIFIER=$(openssl rand -base64 48 | tr '+/' '-_' | tr -d '=\\n')
CODE_CHALLENGE=$(printf '%s' "$CODE_VERIFIER" | openssl dgst -sha256 -binary | openssl base64 | tr '+/' '-_' | tr -d '=\\n')
STATE=$(openssl rand -hex 16)
echo "${baseUrl}${ENDPOINTS.authorization}?response_type=code&client_id=$CLIENT_ID&redirect_uri=$REDIRECT_URI&scope=${encodeURIComponent(scope)}&code_challenge=$CODE_CHALLENGE&code_challenge_method=S256&state=$STATE"
\`\`\`

Open that URL in the user's browser, and listen at the redirect URI. The redirect contains \`code\`, \`state\` and \`iss\`. Continue
only if \`state\` is your value and \`iss\` is the issuer of the metadata. A denial contains \`error=access_denied\`.`,

    `## 4. Exchange the code

Set \`CODE\` to the code from the redirect.

\`\`\`sh
TOKENS=$(curl -sS ${baseUrl}${ENDPOINTS.token} \\
  -d grant_type=authorization_code --data-urlencode "code=$CODE" --data-urlencode "redirect_uri=$REDIRECT_URI" \\
  -d "client_id=$CLIENT_ID" -d "code_verifier=$CODE_VERIFIER" -d resource=${baseUrl})
ACCESS_TOKEN=$(printf '%s' "$TOKENS" | sed -n 's/.*"access_token":"\\([^"]*\\)".*/\\1/p')
REFRESH_TOKEN=$(printf '%s' "$TOKENS" | sed -n 's/.*"refresh_token":"\\([^"]*\\)".*/\\1/p')
\`\`\``,

    `## 5. Call

\`\`\`sh
curl -sS -H "Authorization: Bearer $ACCESS_TOKEN" ${call}
curl -sS ${call}
\`\`\`

A request without a token is anonymous: most operations then return less data, without a challenge. If you send a token, it must
be valid for every operation.

A client can bind its tokens to a key (DPoP, RFC 9449). Send a proof in \`DPoP\` with step 4 and with each refresh. Then call with
\`Authorization: DPoP <token>\` and a new proof for each request.`,

    `## 6. Refresh

\`\`\`sh
TOKENS=$(curl -sS ${baseUrl}${ENDPOINTS.token} \\
  -d grant_type=refresh_token -d "refresh_token=$REFRESH_TOKEN" -d "client_id=$CLIENT_ID")
ACCESS_TOKEN=$(printf '%s' "$TOKENS" | sed -n 's/.*"access_token":"\\([^"]*\\)".*/\\1/p')
REFRESH_TOKEN=$(printf '%s' "$TOKENS" | sed -n 's/.*"refresh_token":"\\([^"]*\\)".*/\\1/p')
\`\`\`

Every refresh returns a new refresh token: store it for the next refresh. If the response is lost, repeat the same request
immediately: for a short time, it gets the same response. A later use of the old refresh token revokes the grant.`,

    `## 7. Revoke

\`\`\`sh
curl -sS ${baseUrl}${ENDPOINTS.revocation} -d "token=$REFRESH_TOKEN" -d "client_id=$CLIENT_ID"
\`\`\``,
  ]
}

/**
 * Returns the table row for status 429, if this status can occur. Registration at the bundled server, routes with a
 * rate limit, and WebSocket routes can cause this status. The number of WebSocket sessions has a limit.
 */
function tooManyRow({ bundledAuthorizationServer, routes }: AuthWalkthroughOptions): string {
  const limits = routes.some((route) => isRateLimited(route) || route.websocket)
  const where = [...(bundledAuthorizationServer ? ['registration'] : []), ...(limits ? ['API'] : [])]
  if (where.length === 0) return ''
  return `\n| 429 \`rate_limited\` | ${where.join(', ')} | wait for the seconds in \`Retry-After\` |`
}

/**
 * Chooses a GET route without parameters, so that the example works for every reader. Prefers a route that has scopes
 * and also allows anonymous access. The token in the examples is for the root resource, so the route is in this resource.
 */
export function exampleRoute({
  routes,
  resources: { root, ofTemplate },
}: Pick<AuthWalkthroughOptions, 'routes' | 'resources'>): PolicyRoute | undefined {
  const plain = routes.filter(
    ({ methods, path }) => methods.includes('GET') && !/[{*]/.test(path) && ofTemplate(path)[0] === root,
  )
  return plain.find((route) => route.scopes !== undefined && route.anonymous === 'allow') ?? plain[0]
}

function exampleScopes(route: PolicyRoute | undefined): readonly string[] {
  if (route?.scopes === undefined) return []
  return [...route.scopes.all, ...route.scopes.any.slice(0, 1)]
}

function cell(text: string): string {
  return oneLine(text).replaceAll('|', '\\|')
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function sizeText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB']
  let amount = bytes
  let unit = 0
  while (amount >= 1024 && amount % 1024 === 0 && unit < units.length - 1) {
    amount /= 1024
    unit += 1
  }
  return `${amount} ${units[unit]}`
}
