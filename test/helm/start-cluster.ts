import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { KubeObject } from './kube-object.ts'

// helm reads these API resources before a `lookup` in a template.
const RESOURCES = {
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [
    { name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret', verbs: ['get', 'list'] },
  ],
}

/**
 * Starts a small Kubernetes API server that contains `secrets`, for `helm template --dry-run=server`.
 * @returns `asked` contains the paths of all requests.
 */
export async function startCluster(
  t: Pick<Test, 'teardown'>,
  secrets: readonly KubeObject[],
): Promise<{ readonly kubeconfig: string; readonly folder: string; readonly asked: readonly string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://cluster').pathname
    asked.push(path)
    const secret = secrets.find((one) => path === `/api/v1/namespaces/shop/secrets/${one.metadata.name}`)
    const answers: Readonly<Record<string, object>> = {
      '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
      '/api': { kind: 'APIVersions', versions: ['v1'] },
      '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
      '/api/v1': RESOURCES,
    }
    const answer = answers[path] ?? secret
    const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? missing))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-cluster-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
      clusters: [{ name: 'test', cluster: { server: `http://127.0.0.1:${port}` } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      users: [{ name: 'test', user: {} }],
    }),
  )
  return { kubeconfig, folder, asked }
}
