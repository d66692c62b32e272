import t from 'tap'
import { AuthorizationServerFile } from '../../authorization-server/authorization-server-file.ts'

type Schema = Readonly<Record<string, unknown>>

/**
 * Returns one line for each key of the file: the path, the constraints and the description. The path of an optional key
 * ends in `?`.
 */
function describe(schema: Schema, path = ''): readonly string[] {
  const { description, properties, items, required = [], type, ...constraints } = schema
  const kind = properties === undefined && items === undefined ? { type } : {}
  const shown = JSON.stringify({ ...kind, ...constraints })
  const line = `${path}${shown === '{}' ? '' : ` ${shown}`}: ${description}`
  const keys = Object.entries((properties ?? {}) as Record<string, Schema>).flatMap(([name, one]) => {
    const mark = (required as readonly string[]).includes(name) ? '' : '?'
    return describe(one, `${path === '' ? '' : `${path}.`}${name}${mark}`)
  })
  return [line, ...keys, ...(items === undefined ? [] : describe(items as Schema, `${path}[]`))]
}

const EXPECTED = String.raw`
: config/authorization-server.yaml
issuer {"type":"string","maxLength":2048,"pattern":"^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?$","format":"url","x-is":"a URL of scheme and host only, such as https://api.example.com"}: the public URL of the service, which every token and metadata document contains
name {"type":"string","minLength":1,"maxLength":100}: the service's name on the pages
listen: address of the HTTP listener
listen.host {"type":"string","minLength":1,"maxLength":255}: address to listen on
listen.port {"type":"integer","minimum":0,"maximum":65535}: port to listen on; with 0, the system selects a free port
management: address of the listener for /livez, /readyz and /metrics
management.host {"type":"string","minLength":1,"maxLength":255}: address to listen on
management.port {"type":"integer","minimum":0,"maximum":65535}: port to listen on; with 0, the system selects a free port
management.names? {"maxItems":100,"uniqueItems":true}: accepted host names, in addition to IP addresses, localhost and host
management.names?[] {"type":"string","maxLength":253,"pattern":"^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$","x-is":"a host name without a port, such as gw-scopegate.gateways.svc"}: an accepted host name
management.console? {"type":"boolean"}: whether the management port serves the console; default: true
management.linkedConsole? {"type":"string","maxLength":2048,"pattern":"^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[^\\s?#@\\\\]*)?$","format":"url","x-is":"a URL such as https://api.example.com, without user name, query or fragment"}: URL of the console of the other service, for a link on each page of the console
management.adminTokenFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the tokens for the sign-in to the console, one per line, newest first; without this file, the console shows no clients and no grants
scopes {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: the scope catalogue
protectedResources? {"maxItems":1000,"uniqueItems":true}: resources for which the server issues tokens, besides the API itself
protectedResources?[] {"type":"string","maxLength":200,"pattern":"^(/|(/(?!\\.{1,2}(/|$))[A-Za-z0-9\\-._~]+)+)$","x-is":"a path such as /mcp, of letters, digits, -, ., _ and ~, without a trailing slash"}: a path below the public URL
dataDir {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: folder of the SQLite file and the generated keys
store: the store of clients, grants and tokens
store.type {"enum":["sqlite","redis","postgres"]}: kind of the store: sqlite (for one server), redis or postgres
redis?: only for store.type: redis
redis?.url? {"type":"string","minLength":1,"maxLength":4096,"x-secret":true}: URL of one server: redis://… or rediss://…
redis?.sentinel?: Sentinels that name the primary
redis?.sentinel?.name {"type":"string","minLength":1,"maxLength":256}: name of the primary in the configuration of the Sentinels
redis?.sentinel?.addresses {"minItems":1,"maxItems":100,"uniqueItems":true}: addresses of the Sentinels
redis?.sentinel?.addresses[] {"type":"string","maxLength":300,"pattern":"^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):[0-9]{1,5}$","x-is":"a host and a port such as redis-0.example.com:6379"}: host and port
redis?.sentinel?.username? {"type":"string","minLength":1,"maxLength":256}: ACL user for the connections to the Sentinels
redis?.sentinel?.passwordFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the password for the connections to the Sentinels
redis?.cluster?: a Redis Cluster
redis?.cluster?.addresses {"minItems":1,"maxItems":100,"uniqueItems":true}: addresses of some nodes; the cluster names the others
redis?.cluster?.addresses[] {"type":"string","maxLength":300,"pattern":"^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):[0-9]{1,5}$","x-is":"a host and a port such as redis-0.example.com:6379"}: host and port
redis?.username? {"type":"string","minLength":1,"maxLength":256}: ACL user
redis?.passwordFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the password, read again at each connection
redis?.tls?: TLS to Redis and to Sentinels; with url, the URL begins with rediss://
redis?.tls?.caFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: PEM file with the CA certificates; without this file, the public CA certificates apply
redis?.tls?.certFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: PEM file with the client certificate
redis?.tls?.keyFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: PEM file with the key of the client certificate
postgres?: only for store.type: postgres
postgres?.url {"type":"string","minLength":1,"maxLength":4096,"x-secret":true}: postgres://user@host:5432/database
postgres?.passwordFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the password of the user; the server reads the file at each new connection
postgres?.caFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: PEM file with the CA certificates of PostgreSQL; enables TLS with verification of the certificate
postgres?.certFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: PEM file with the client certificate; enables TLS like caFile; requires keyFile
postgres?.keyFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: PEM file with the key of the client certificate
postgres?.pool?: connections to PostgreSQL
postgres?.pool?.max? {"type":"integer","minimum":1,"maximum":1000}: maximum number of connections that one server uses for requests; default 10
postgres?.pool?.connectTimeout? {"type":"string","pattern":"^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,4}s|[1-9][0-9]{0,2}m|[1-9][0-9]?h)$","x-is":"a duration such as 250ms, 5s, 1m or 1h, from 1ms to 99h"}: longest wait for a new or free connection; default 2s
postgres?.pool?.statementTimeout? {"type":"string","pattern":"^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,4}s|[1-9][0-9]{0,2}m|[1-9][0-9]?h)$","x-is":"a duration such as 250ms, 5s, 1m or 1h, from 1ms to 99h"}: longest time of a statement; default 2s
signingKeysFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: JSON Web Key Set with private keys; without this file, the server generates keys in dataDir
cookieKeysFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: cookie keys, one per line, newest first; without this file, the server generates a key in dataDir
gatewayClient: the client for introspection and the revocation stream
gatewayClient.id {"type":"string","minLength":1,"maxLength":100}: the gateway's client_id
gatewayClient.secretFile {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the gateway's client_secret: accepted secrets, one per line, newest first
development? {"type":"boolean"}: true: alice/alice and bob/bob can sign in. Never in production
drain?: graceful shutdown
drain?.delay? {"type":"string","pattern":"^([0-9]|[1-5][0-9])s$","x-is":"a number of seconds from 0s to 59s"}: time in which the service accepts new connections after readiness fails; use 0s without a load balancer
drain?.grace? {"type":"string","pattern":"^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,4}s|[1-9][0-9]{0,2}m|[1-9][0-9]?h)$","x-is":"a duration such as 250ms, 5s, 1m or 1h, from 1ms to 99h"}: time until the service closes open connections, delay included
lifetimes?: lifetimes of codes, tokens and sessions
lifetimes?.code? {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: lifetime of authorization codes
lifetimes?.accessToken? {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: lifetime of access tokens
lifetimes?.refreshToken? {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: lifetime of refresh tokens after their last use
lifetimes?.refreshTokenMax? {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: maximum lifetime of refresh tokens after the consent
lifetimes?.session? {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: lifetime of sign-in sessions
accessTokens?: format of access tokens; with jwt, gateways can verify tokens without introspection
accessTokens?.format? {"enum":["opaque","jwt"]}: opaque (gateways validate it by introspection) or jwt (gateways verify its signature)
accessTokens?.algorithm? {"enum":["ES256","EdDSA"]}: signature algorithm of JWTs: ES256 or EdDSA
accessTokens?.resources? {"maxItems":1000}: token formats of single resources
accessTokens?.resources?[]: the token format of one resource
accessTokens?.resources?[].path {"type":"string","maxLength":200,"pattern":"^(/|(/(?!\\.{1,2}(/|$))[A-Za-z0-9\\-._~]+)+)$","x-is":"a path such as /mcp, of letters, digits, -, ., _ and ~, without a trailing slash"}: a path of protectedResources, or /
accessTokens?.resources?[].format {"enum":["opaque","jwt"]}: opaque (gateways validate it by introspection) or jwt (gateways verify its signature)
refreshTokens?: use of refresh tokens
refreshTokens?.repeatWindow? {"type":"string","pattern":"^((\\d|[1-9]\\d|[12]\\d\\d|300)s|[1-5]m)$","x-is":"a duration of whole seconds such as 30s or 2m, at most 5m"}: time in which a repeated refresh request gets the same response; 0s: a repeated request ends the grant
registration?: dynamic client registration
registration?.redirectUris?: redirect URIs that clients may register
registration?.redirectUris?.loopback {"minItems":1}: loopback hosts that every client may register in http redirect URIs
registration?.redirectUris?.loopback[] {"enum":["127.0.0.1","localhost","[::1]"]}: 127.0.0.1, localhost or [::1]
registration?.bodyLimit? {"type":"string","pattern":"^[0-9]{1,6}(B|KiB|MiB|GiB)$","x-is":"a size such as 512B, 16KiB, 10MiB or 1GiB"}: largest registration request
registration?.clientDocuments?: Client ID Metadata Documents: registration of hosted agents
registration?.clientDocuments?.domains {"maxItems":100,"uniqueItems":true}: hosts of client documents; empty: the server accepts no URL as client_id
registration?.clientDocuments?.domains[] {"type":"string","maxLength":260,"pattern":"^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::(?!443$)[1-9][0-9]{1,4})?$","x-is":"a host name in lower case such as claude.ai, without https:// and without a path; omit port 443"}: a host of client documents, with a port if it is not 443
registration?.unusedClients? {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: age at which a registered client without a grant expires
registration?.rateLimit?: rate limit of client registrations
registration?.rateLimit?.perAddress {"type":"integer","minimum":1}: maximum number of registrations per address in a window
registration?.rateLimit?.window {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: length of the window
authorization?: authorization requests and pushed authorization requests
authorization?.rateLimit?: rate limit of authorization requests
authorization?.rateLimit?.perAddress {"type":"integer","minimum":1}: maximum number of authorization requests per address in a window
authorization?.rateLimit?.window {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: length of the window
authorization?.pending?: limits for stored authorization requests; above a limit, the server evicts old requests
authorization?.pending?.perAddress {"type":"integer","minimum":1}: maximum number of unfinished authorization requests of one address
authorization?.pending?.total {"type":"integer","minimum":1}: maximum number of unfinished authorization requests of all addresses
consent?: the consent of people
consent?.remember? {"type":"string","pattern":"^[0-9]{1,7}(ms|s|m|h|d)$","x-is":"a duration such as 250ms, 5s, 1m, 12h or 30d"}: time in which the server does not ask a person again for the same access; 0s: the server asks at each authorization
consent?.rememberLocalApps? {"type":"boolean"}: true: the server also remembers consents for apps on the device of the person; RFC 8252 section 8.6
look?: the look of the sign-in and consent pages
look?.logo? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: logo above the name: a PNG or SVG image of at most 64 KiB
look?.colors?: colors of the pages; the contrast must be at least 4.5:1
look?.colors?.light?: colors of the light color scheme
look?.colors?.light?.accent? {"type":"string","pattern":"^#[0-9A-Fa-f]{6}$","x-is":"a color such as #2450c8"}: color of buttons and links
look?.colors?.light?.background? {"type":"string","pattern":"^#[0-9A-Fa-f]{6}$","x-is":"a color such as #2450c8"}: background of the pages
look?.colors?.light?.text? {"type":"string","pattern":"^#[0-9A-Fa-f]{6}$","x-is":"a color such as #2450c8"}: color of the text
look?.colors?.dark?: colors of the dark color scheme
look?.colors?.dark?.accent? {"type":"string","pattern":"^#[0-9A-Fa-f]{6}$","x-is":"a color such as #2450c8"}: color of buttons and links
look?.colors?.dark?.background? {"type":"string","pattern":"^#[0-9A-Fa-f]{6}$","x-is":"a color such as #2450c8"}: background of the pages
look?.colors?.dark?.text? {"type":"string","pattern":"^#[0-9A-Fa-f]{6}$","x-is":"a color such as #2450c8"}: color of the text
look?.css? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: CSS file of at most 32 KiB, which adds to the stylesheet of the pages; url() and @import are not allowed
look?.links?: links below each page
look?.links?.help? {"type":"string","maxLength":2048,"pattern":"^https://[^\\s\"<>]+$","format":"url","x-is":"a URL such as https://example.com/help"}: help page
look?.links?.terms? {"type":"string","maxLength":2048,"pattern":"^https://[^\\s\"<>]+$","format":"url","x-is":"a URL such as https://example.com/help"}: terms of service
look?.links?.privacy? {"type":"string","maxLength":2048,"pattern":"^https://[^\\s\"<>]+$","format":"url","x-is":"a URL such as https://example.com/help"}: privacy policy
compat?: relaxations for clients that do not follow the service interface
compat?.defaultScope? {"type":"string","minLength":1}: scopes of an authorization request without scope
compat?.optionalState? {"type":"boolean"}: true: authorization requests may omit state
compat?.loopbackRedirects? {"type":"boolean"}: true: redirect URIs may name localhost and may omit the port
signIn?: how people sign in
signIn?.local? {"type":"boolean"}: whether people can sign in with a user name and password
signIn?.providers? {"maxItems":20}: OpenID providers for sign-in
signIn?.providers?[]: an OpenID provider
signIn?.providers?[].name {"type":"string","pattern":"^[a-z0-9-]{1,32}$","x-is":"a name of 1 to 32 lower-case letters, digits and -, such as company"}: name of the provider, which is part of its redirect URI
signIn?.providers?[].title {"type":"string","minLength":1,"maxLength":60}: name of the provider on the sign-in page
signIn?.providers?[].issuer {"type":"string","maxLength":2048,"pattern":"^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[^\\s?#@\\\\]*)?$","format":"url","x-is":"a URL such as https://api.example.com, without user name, query or fragment"}: issuer of the provider, exactly as in its metadata
signIn?.providers?[].clientId {"type":"string","minLength":1,"maxLength":255}: client_id of this server
signIn?.providers?[].clientSecretFile {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the client secrets of this server, one per line, newest first
signIn?.providers?[].scopes? {"minItems":1,"maxItems":50,"uniqueItems":true}: requested scopes; default: openid, profile and email
signIn?.providers?[].scopes?[] {"type":"string","pattern":"^[!#-\\[\\]-~]+$","x-is":"a scope"}: a scope
signIn?.providers?[].claims?: claims of the provider, by name or by a path such as realm_access.roles
signIn?.providers?[].claims?.name? {"type":"string","minLength":1,"maxLength":200}: claim with the name of the person; default: name
signIn?.providers?[].claims?.email? {"type":"string","minLength":1,"maxLength":200}: claim with the e-mail address; default: email, if email_verified is true
signIn?.providers?[].claims?.groups? {"type":"string","minLength":1,"maxLength":200}: claim with the groups of the person; default: none
signIn?.providers?[].claims?.roles? {"type":"string","minLength":1,"maxLength":200}: claim with the roles of the person; default: none
signIn?.providers?[].admit?: rules of admission; a person must satisfy every rule
signIn?.providers?[].admit?.emailDomains? {"minItems":1,"maxItems":1000}: accepted domains of the e-mail address; the provider must have verified the address
signIn?.providers?[].admit?.emailDomains?[] {"type":"string","pattern":"^[a-z0-9-]+(\\.[a-z0-9-]+)*$","x-is":"a domain in lower case, such as example.com"}: a domain
signIn?.providers?[].admit?.groups? {"minItems":1,"maxItems":1000}: the person must be in at least one of these groups
signIn?.providers?[].admit?.groups?[] {"type":"string","minLength":1,"maxLength":256}: a group
signIn?.providers?[].admit?.claims? {"type":"object","patternProperties":{"^.{1,200}$":{"type":"array","items":{"type":"string","description":"a value","minLength":1,"maxLength":256},"description":"the claim must have at least one of these values","minItems":1,"maxItems":1000}}}: required claims, each with its accepted values
signIn?.secondFactor?: the second factor of local accounts
signIn?.secondFactor?.mode {"enum":["off","optional","required"]}: off, optional or required: whether local accounts need a code of an authenticator app after the password
signIn?.secondFactor?.acr? {"type":"string","maxLength":200,"pattern":"^[!#-\\[\\]-~]+$","x-is":"a value without spaces, such as https://refeds.org/profile/mfa"}: acr of a sign-in with both factors; default https://refeds.org/profile/mfa
integrations?: clients that the operator configures
integrations?[]: a registered integration
integrations?[].clientId {"type":"string","minLength":1,"maxLength":100}: client_id
integrations?[].clientName {"type":"string","minLength":1,"maxLength":100}: name of the client; the consent page marks the client as verified
integrations?[].redirectUris {"minItems":1}: redirect URIs of the client
integrations?[].redirectUris[] {"type":"string","pattern":"^https://[^\\s#]+$","x-is":"an https address without fragment"}: a fixed redirect URI
integrations?[].postLogoutRedirectUris?: addresses to which the server redirects the browser after sign-out
integrations?[].postLogoutRedirectUris?[] {"type":"string","pattern":"^https://[^\\s#]+$","x-is":"an https address without fragment"}: a fixed redirect URI
integrations?[].clientSecretFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the accepted secrets, one per line; without this file, the client is public
integrations?[].trusted? {"type":"boolean"}: true: a client of the operator; its authorizations show no consent page
canary?: the client of the command scopegate canary; without this key, no client can use client credentials
canary?.clientId? {"type":"string","minLength":1,"maxLength":100}: client_id of the canary; default: canary
canary?.clientSecretFile {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file with the accepted secrets of the canary, one per line, newest first
canary?.scopes {"minItems":1,"maxItems":50,"uniqueItems":true}: scopes of each token; no other scope is possible
canary?.scopes[] {"type":"string","minLength":1,"maxLength":256}: a scope that only reads
canary?.resource? {"type":"string","maxLength":200,"pattern":"^(/|(/(?!\\.{1,2}(/|$))[A-Za-z0-9\\-._~]+)+)$","x-is":"a path such as /mcp, of letters, digits, -, ., _ and ~, without a trailing slash"}: a path of protectedResources, or / (default)
log?: the log on standard output
log?.level? {"enum":["trace","debug","info","warn","error","fatal","silent"]}: lowest level of the lines in the log: trace, debug, info, warn, error, fatal or silent
log?.auditFile? {"type":"string","minLength":1,"maxLength":4096,"x-path":true}: file or named pipe for the audit lines; default: the log on standard output
log?.format? {"enum":["default","ecs"]}: default, or ecs for the field names of the Elastic Common Schema
tracing?: OpenTelemetry traces
tracing?.endpoint? {"type":"string","maxLength":2048,"pattern":"^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?(/[^\\s?#@\\\\]*)?$","format":"url","x-is":"a URL such as https://api.example.com, without user name, query or fragment"}: base URL of an OTLP receiver such as http://otel-collector:4318; spans go to /v1/traces
tracing?.sampleRatio? {"type":"number","minimum":0,"maximum":1}: share of the new traces that are recorded, from 0 to 1; default: 1
tracing?.trustIncoming? {"enum":["always","never"]}: whether the server continues the trace of its caller, which is the gateway: always (default) or never
`

t.test('the configuration file has exactly these keys, constraints and descriptions', async (t) => {
  const lines = describe(AuthorizationServerFile as unknown as Schema)
  t.equal(lines.join('\n'), EXPECTED.trim())
})
