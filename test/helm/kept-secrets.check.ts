import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { KubeObject } from './kube-object.ts'
import { CHART, find, parseObjects, render } from './render-chart.ts'
import { startCluster } from './start-cluster.ts'

t.test('an upgrade keeps the generated secrets, and generates only missing secrets', async (t) => {
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

/** Simulates `helm upgrade` in a cluster with `secrets`. */
async function upgrade(
  t: Test,
  secrets: readonly KubeObject[],
): Promise<{ objects: readonly KubeObject[]; asked: readonly string[] }> {
  const { kubeconfig, asked, folder } = await startCluster(t, secrets)
  const helm = spawn(
    process.env['SCOPEGATE_HELM'] ?? 'helm',
    ['template', 'gw', CHART, '--namespace', 'shop', '--dry-run=server', '--kubeconfig', kubeconfig],
    { env: { PATH: process.env['PATH'], HOME: folder }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const [output, errors] = await Promise.all([text(helm.stdout), text(helm.stderr)])
  t.equal(errors.replaceAll(/^.*(WARNING|level=WARN).*\n/gm, ''), '', 'helm has no complaint')
  return { objects: parseObjects(output), asked }
}
