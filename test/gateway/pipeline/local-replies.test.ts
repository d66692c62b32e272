import t from 'tap'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow }
routes:
  - { name: open, match: { methods: [GET, POST], path: "/pub/**" } }
  - { name: challenged, match: { methods: [GET], path: /challenged }, anonymous: challenge, scopes: { all: [courses:read] } }
  - { name: denied, match: { methods: [GET], path: /denied }, anonymous: deny }
  - { name: limited, match: { methods: [GET], path: /limited }, rateLimit: { requests: 2, per: 1h, by: ip } }
  - { name: narrow, match: { methods: [GET], path: /narrow }, anonymous: deny, cors: { origins: [https://app.test] } }
  - { name: small, match: { methods: [POST], path: /small }, bodyLimit: 4B }
`

/** Returns the headers of a local error response with a body of this length. */
const error = (bytes: number): readonly string[] => [
  'content-type: application/json',
  `content-length: ${bytes}`,
  'cache-control: no-store',
  'x-content-type-options: nosniff',
  'x-request-id: ID',
  'x-scopegate-error: 1',
]
const EXPOSED =
  'access-control-expose-headers: WWW-Authenticate, DPoP-Nonce, X-Request-Id, X-Scopegate-Error, Allow, Retry-After, RateLimit, RateLimit-Policy, Mcp-Session-Id, ETag, Link, Location, Content-Disposition, Content-Range'
const CORS = ['access-control-allow-origin: *', EXPOSED]
const POLICY_HASH = 'x-scopegate-policy: HASH'

type Row = readonly [request: string, status: string, headers: readonly string[], body: string]

/**
 * The complete response to each request, in the order of the requests. The list does not use the code, so that it
 * detects changes of the code.
 */
const ROWS: readonly Row[] = [
  [
    'GET /nothing',
    '404 Not Found',
    [...error(123), POLICY_HASH, ...CORS, 'Connection: close'],
    '{"error":"not_found","error_description":"No route matches this path.","request_id":"ID"}',
  ],
  [
    'GET //',
    '400 Bad Request',
    [...error(238), ...CORS, 'connection: close'],
    '{"error":"invalid_request","error_description":"The path is ambiguous. Remove dot segments, empty segments, backslashes, encoded slashes, control bytes, fragments and invalid encoding.","request_id":"ID"}',
  ],
  [
    'PUT /pub/x',
    '405 Method Not Allowed',
    [...error(152), 'allow: GET, HEAD, POST, OPTIONS', POLICY_HASH, ...CORS, 'Connection: close'],
    '{"error":"method_not_allowed","error_description":"This path allows only GET, HEAD, POST, OPTIONS.","request_id":"ID"}',
  ],
  [
    'GET /challenged',
    '401 Unauthorized',
    [
      ...error(195),
      'www-authenticate: Bearer scope="courses:read", resource_metadata="http://api.test/.well-known/oauth-protected-resource"',
      POLICY_HASH,
      ...CORS,
      'Connection: close',
    ],
    '{"error":"unauthorized","error_description":"This path requires an access token: Authorization: Bearer <access token>.","request_id":"ID","scope":"courses:read"}',
  ],
  [
    'GET /denied',
    '401 Unauthorized',
    [...error(172), 'www-authenticate: Bearer', POLICY_HASH, ...CORS, 'Connection: close'],
    '{"error":"unauthorized","error_description":"This path requires an access token: Authorization: Bearer <access token>.","request_id":"ID"}',
  ],
  [
    'GET /narrow',
    '401 Unauthorized',
    [...error(172), 'www-authenticate: Bearer', POLICY_HASH, 'vary: Origin', 'Connection: close'],
    '{"error":"unauthorized","error_description":"This path requires an access token: Authorization: Bearer <access token>.","request_id":"ID"}',
  ],
  [
    'GET /narrow\r\nOrigin: https://app.test',
    '401 Unauthorized',
    [
      ...error(172),
      'www-authenticate: Bearer',
      POLICY_HASH,
      'access-control-allow-origin: https://app.test',
      EXPOSED,
      'vary: Origin',
      'Connection: close',
    ],
    '{"error":"unauthorized","error_description":"This path requires an access token: Authorization: Bearer <access token>.","request_id":"ID"}',
  ],
  [
    'GET /limited',
    '200 OK',
    [
      'content-type: application/json',
      'content-length: 11',
      'x-request-id: ID',
      ...CORS,
      POLICY_HASH,
      'ratelimit-policy: "default";q=2;w=3600',
      'ratelimit: "default";r=1;t=1800',
      'Connection: close',
    ],
    '{"ok":true}',
  ],
  [
    'GET /limited',
    '200 OK',
    [
      'content-type: application/json',
      'content-length: 11',
      'x-request-id: ID',
      ...CORS,
      POLICY_HASH,
      'ratelimit-policy: "default";q=2;w=3600',
      'ratelimit: "default";r=0;t=3600',
      'Connection: close',
    ],
    '{"ok":true}',
  ],
  [
    'GET /limited',
    '429 Too Many Requests',
    [
      ...error(163),
      'retry-after: 1800',
      POLICY_HASH,
      'ratelimit-policy: "default";q=2;w=3600',
      'ratelimit: "default";r=0;t=3600',
      ...CORS,
      'Connection: close',
    ],
    '{"error":"rate_limited","error_description":"Too many requests. Try again in 1800 seconds.","request_id":"ID","retry_after":1800}',
  ],
  [
    'POST /small\r\nContent-Length: 5',
    '413 Payload Too Large',
    [...error(136), POLICY_HASH, ...CORS, 'Connection: close'],
    '{"error":"payload_too_large","error_description":"The body is larger than 4 bytes.","request_id":"ID"}',
  ],
  [
    'OPTIONS /pub/x',
    '204 No Content',
    ['allow: GET, HEAD, POST, OPTIONS', 'x-request-id: ID', POLICY_HASH, ...CORS, 'Connection: close'],
    '',
  ],
  [
    'OPTIONS /pub/x\r\nOrigin: https://app.test\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: X-A',
    '204 No Content',
    [
      'allow: GET, HEAD, POST, OPTIONS',
      'x-request-id: ID',
      POLICY_HASH,
      'access-control-allow-origin: *',
      'access-control-allow-methods: GET, HEAD, POST, OPTIONS',
      'access-control-allow-headers: x-a',
      'access-control-max-age: 600',
      'vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      'Connection: close',
    ],
    '',
  ],
  [
    'OPTIONS *',
    '204 No Content',
    [
      'allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      'x-request-id: ID',
      POLICY_HASH,
      ...CORS,
      'Connection: close',
    ],
    '',
  ],
  [
    'OPTIONS /narrow\r\nOrigin: https://app.test\r\nAccess-Control-Request-Method: GET',
    '204 No Content',
    [
      'allow: GET, HEAD, OPTIONS',
      'x-request-id: ID',
      POLICY_HASH,
      'access-control-allow-origin: https://app.test',
      'access-control-allow-methods: GET, HEAD, OPTIONS',
      'access-control-max-age: 600',
      'vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      'Connection: close',
    ],
    '',
  ],
  [
    'OPTIONS /narrow\r\nOrigin: https://other.test\r\nAccess-Control-Request-Method: GET',
    '204 No Content',
    [
      'allow: GET, HEAD, OPTIONS',
      'x-request-id: ID',
      POLICY_HASH,
      'vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      'Connection: close',
    ],
    '',
  ],
  [
    'GET /.well-known/oauth-protected-resource',
    '200 OK',
    [
      'content-type: application/json',
      'content-length: 314',
      'etag: ETAG',
      'cache-control: public, max-age=300',
      'x-content-type-options: nosniff',
      'x-request-id: ID',
      POLICY_HASH,
      ...CORS,
      'Connection: close',
    ],
    '{"resource":"http://api.test","authorization_servers":["http://api.test"],"scopes_supported":["courses:read"],"bearer_methods_supported":["header"],"dpop_signing_alg_values_supported":["ES256","ES384","PS256","RS256","EdDSA","Ed25519"],"resource_name":"Test API","resource_documentation":"http://api.test/auth.md"}',
  ],
  [
    'GET /.well-known/oauth-protected-resource\r\nIf-None-Match: *',
    '304 Not Modified',
    [
      'etag: ETAG',
      'cache-control: public, max-age=300',
      'x-content-type-options: nosniff',
      'x-request-id: ID',
      POLICY_HASH,
      ...CORS,
      'Connection: close',
    ],
    '',
  ],
  [
    'GET /pub/x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b',
    '400 Bad Request',
    [
      ...error(140),
      'www-authenticate: Bearer error="invalid_request", error_description="Send exactly one Authorization header.", resource_metadata="http://api.test/.well-known/oauth-protected-resource"',
      POLICY_HASH,
      ...CORS,
      'Connection: close',
    ],
    '{"error":"invalid_request","error_description":"Send exactly one Authorization header.","request_id":"ID"}',
  ],
  [
    'GET /pub/x\r\nAuthorization: DPoP a\r\nAuthorization: Bearer b',
    '400 Bad Request',
    [
      ...error(140),
      'www-authenticate: Bearer error="invalid_request", error_description="Send exactly one Authorization header.", resource_metadata="http://api.test/.well-known/oauth-protected-resource"',
      POLICY_HASH,
      ...CORS,
      'Connection: close',
    ],
    '{"error":"invalid_request","error_description":"Send exactly one Authorization header.","request_id":"ID"}',
  ],
  [
    'POST /api/oauth/token\r\nAuthorization: Basic a\r\nAuthorization: Basic b',
    '400 Bad Request',
    [
      ...error(140),
      'www-authenticate: Bearer error="invalid_request", error_description="Send exactly one Authorization header.", resource_metadata="http://api.test/.well-known/oauth-protected-resource"',
      POLICY_HASH,
      'Connection: close',
    ],
    '{"error":"invalid_request","error_description":"Send exactly one Authorization header.","request_id":"ID"}',
  ],
  [
    'GET /pub/x?access_token=a',
    '400 Bad Request',
    [
      ...error(168),
      'www-authenticate: Bearer error="invalid_request", error_description="Send the access token in the Authorization header, not in the URL.", resource_metadata="http://api.test/.well-known/oauth-protected-resource"',
      POLICY_HASH,
      ...CORS,
      'Connection: close',
    ],
    '{"error":"invalid_request","error_description":"Send the access token in the Authorization header, not in the URL.","request_id":"ID"}',
  ],
  [
    'GET /pub/x',
    '200 OK',
    [
      'content-type: application/json',
      'content-length: 11',
      'x-request-id: ID',
      ...CORS,
      POLICY_HASH,
      'Connection: close',
    ],
    '{"ok":true}',
  ],
  [
    'GET /oauth/authorize',
    '200 OK',
    [
      'content-type: application/json',
      'content-length: 11',
      'x-request-id: ID',
      POLICY_HASH,
      'Connection: close',
    ],
    '{"ok":true}',
  ],
]

/** Replaces the values that differ in each run, and removes the date. */
function withoutVariables(response: string): string {
  return response
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/^Date: .*\r\n/m, '')
    .replace(/^(x-scopegate-policy: )[0-9a-f]{12}\r$/m, '$1HASH\r')
    .replace(/^etag: "[\w-]+"\r$/m, 'etag: ETAG\r')
}

t.test('the gateway sends exactly these bytes for each kind of response', async (t) => {
  const { raw } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, debug: { policyHeader: true } }),
  })
  for (const [request, status, headers, body] of ROWS) {
    const [line, ...more] = request.split('\r\n')
    const lines = [`${line} HTTP/1.1`, 'Host: api.test', 'Connection: close', ...more]
    const response = await raw(`${lines.join('\r\n')}\r\n\r\n`)
    t.equal(withoutVariables(response), [`HTTP/1.1 ${status}`, ...headers, '', body].join('\r\n'), request)
  }
})
