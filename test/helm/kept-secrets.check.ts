import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { KubeObject } from './kube-object.ts'
import { CHART, find, parseObjects, render } from './render-chart.ts'

// What `lookup` asks of a Kubernetes API server, and the answers of one that holds the given Secrets.
const RESOURCES = {
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: [
    { name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret', verbs: ['get', 'list'] },
  ],
}

t.test('an upgrade finds the generated secrets again, and makes only those that are missing', async (t) => {
  const before = render()
  const kept = find(before, 'Secret', 'gw-scopegate-gateway-client')
  const { objects, asked } = await upgrade(t, [kept])

  t.strictSame(find(objects, 'Secret', 'gw-scopegate-gateway-client').data, kept.data, 'kept')
  t.match(
    find(objects, 'Secret', 'gw-scopegate-cookie-keys').data,
    { 'cookie-keys': /^[A-Za-z0-9+/=]{64}$/ },
    'made',
  )
  t.ok(
    asked.includes('/api/v1/namespaces/shop/secrets/gw-scopegate-cookie-keys'),
    'asked for in the release’s namespace',
  )
})

t.test('an upgrade of a whole release changes no secret and replaces no pod', async (t) => {
  const before = render()
  const { objects } = await upgrade(
    t,
    before.filter((object) => object.kind === 'Secret'),
  )
  t.strictSame(objects, before)
})

/** Renders with a cluster in reach, as `helm upgrade` does. */
async function upgrade(
  t: Test,
  secrets: readonly KubeObject[],
): Promise<{ objects: readonly KubeObject[]; asked: readonly string[] }> {
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
  const folder = t.testdir()
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
  const helm = spawn(
    process.env['SCOPEGATE_HELM'] ?? 'helm',
    ['template', 'gw', CHART, '--namespace', 'shop', '--dry-run=server', '--kubeconfig', kubeconfig],
    { env: { PATH: process.env['PATH'], HOME: folder }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const [output, errors] = await Promise.all([text(helm.stdout), text(helm.stderr)])
  t.equal(errors.replaceAll(/^.*(WARNING|level=WARN).*\n/gm, ''), '', 'helm has no complaint')
  return { objects: parseObjects(output), asked }
}
