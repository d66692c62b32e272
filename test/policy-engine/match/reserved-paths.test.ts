import t from 'tap'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../../oauth/endpoints.ts'
import { AUTHORIZATION_SERVER_PATHS } from '../../../policy-engine/match/authorization-server-routes.ts'
import { parsePathTemplate } from '../../../policy-engine/match/path-template.ts'
import { findReservedPath } from '../../../policy-engine/match/reserved-paths.ts'

function reserved(path: string): string | undefined {
  const template = parsePathTemplate(path)
  return 'problem' in template ? template.problem : findReservedPath(template)
}

t.test(
  'findReservedPath() finds every path that the gateway serves itself, and the paths below',
  async (t) => {
    const own = [
      ...Object.values(ENDPOINTS),
      ...AUTHORIZATION_SERVER_PATHS.map((one) => one.path),
      REVOCATION_STREAM_PATH,
    ]
    for (const path of own) {
      t.ok(reserved(path), path)
      if (!path.endsWith('/**'))
        for (const end of ['/**', '/', '/x', '/{y}']) t.ok(reserved(`${path}${end}`), `${path}${end}`)
    }
    for (const path of [
      '/',
      '/openapi.json',
      '/auth.md',
      '/.well-known/api-catalog',
      '/auth.md/**',
      '/internal',
      '/internal/{x}',
      '/oauth',
      '/api/oauth/**',
    ])
      t.ok(reserved(path), path)
  },
)

t.test('findReservedPath() allows wider templates and lookalikes in policies', async (t) => {
  for (const path of [
    '/**',
    '/{x}',
    '/{x}/**',
    '/api/**',
    '/api/{x}',
    '/oauthx',
    '/internals',
    '/OAUTH/x',
    '/openapi.json.gz',
    '/.well-known/security.txt',
  ])
    t.equal(reserved(path), undefined, path)
})
