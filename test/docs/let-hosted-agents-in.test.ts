import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { readDocumentUrl } from '../../authorization-server/client-documents/client-documents.ts'
import { parseClientDocument } from '../../authorization-server/client-documents/parse-client-document.ts'
import { readAuthorizationServerConfig } from '../../authorization-server/config.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'

const ROOT = findPackageRoot()
const GUIDE = readFileSync(join(ROOT, 'docs', 'let-hosted-agents-in.md'), 'utf8')
const SHIPPED = readFileSync(join(ROOT, 'config', 'authorization-server.yaml'), 'utf8')

t.test('the server accepts each configuration in the guide', async (t) => {
  const blocks = [...GUIDE.matchAll(/^ *```yaml\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block)
  t.equal(blocks.length, 3)
  for (const block of blocks) {
    const configDir = t.testdir({
      'authorization-server.yaml': stringify({ ...parse(SHIPPED), ...parse(block) }),
    })
    copyFileSync(join(ROOT, 'config', 'scopes.yaml'), join(configDir, 'scopes.yaml'))
    t.ok(readAuthorizationServerConfig({ configDir, env: {} }), block)
  }
})

t.test('the server accepts the URL and the redirect URIs of each agent in the guide', async (t) => {
  const rows = [...GUIDE.matchAll(/^\| (.*) \| `domains: \[(.*)\]` \| `(.*)` \| (.*) \|$/gm)]
  t.equal(rows.length, 5)
  for (const [, agent = '', domain, clientId = '', redirects = ''] of rows) {
    t.equal(readDocumentUrl(clientId)?.host, domain, agent)
    const redirectUris = [...redirects.matchAll(/`([^`]+)`/g)].map(([, uri]) => uri)
    const document = JSON.stringify({ client_id: clientId, redirect_uris: redirectUris })
    t.same(parseClientDocument(document, clientId).redirect_uris, redirectUris, agent)
  }
})
