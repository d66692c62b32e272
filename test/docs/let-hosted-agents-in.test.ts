import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { readDocumentUrl } from '../../authorization-server/client-documents/client-documents.ts'
import { parseClientDocument } from '../../authorization-server/client-documents/parse-client-document.ts'
import {
  type AuthorizationServerConfig,
  readAuthorizationServerConfig,
} from '../../authorization-server/config.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const ROOT = findPackageRoot()
const GUIDE = readFileSync(join(ROOT, 'docs', 'let-hosted-agents-in.md'), 'utf8')
const SHIPPED = readFileSync(join(ROOT, 'config', 'authorization-server.yaml'), 'utf8')

const REGISTRATION = documentedBlock('docs/let-hosted-agents-in.md', 'registration:')

t.test('the server accepts each configuration in the guide', async (t) => {
  for (const block of [
    REGISTRATION,
    documentedBlock('docs/let-hosted-agents-in.md', '- clientId: cursor'),
    documentedBlock('docs/let-hosted-agents-in.md', '- clientId: https://claude.ai'),
  ])
    t.ok(readConfig(t, block), block)
})

t.test('the command of the guide shows that the metadata announces client documents', async (t) => {
  const { registration } = readConfig(t, REGISTRATION)
  const { baseUrl } = await startServer(t, { registration })
  const command = documentedBlock('docs/let-hosted-agents-in.md', 'curl -s')
  const script = command.replace('https://api.example.com', baseUrl)
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script])
  t.equal(stdout, '"client_id_metadata_document_supported":true\n')
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

/** Reads the shipped configuration with the settings of a block. */
function readConfig(t: Test, block: string): AuthorizationServerConfig {
  const configDir = t.testdir({
    'authorization-server.yaml': stringify({ ...parse(SHIPPED), ...parse(block) }),
  })
  copyFileSync(join(ROOT, 'config', 'scopes.yaml'), join(configDir, 'scopes.yaml'))
  return readAuthorizationServerConfig({ configDir, env: {} }).config
}
