import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { IDLE_TIMEOUT_MS } from '../../../gateway/server/server.ts'
import { EXAMPLES } from './ingress.ts'

const OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

t.test('the examples for Envoy close an idle connection before Scopegate closes it', async (t) => {
  for (const file of ['envoy.yaml', 'envoy-http.yaml']) {
    const { static_resources } = parse(readFileSync(join(EXAMPLES, 'envoy', file), 'utf8'))
    for (const name of ['decisions', 'scopegate']) {
      const cluster = static_resources.clusters.find((one: { name: string }) => one.name === name)
      const options = cluster.typed_extension_protocol_options?.[OPTIONS]
      const idleTimeout = options?.common_http_protocol_options?.idle_timeout ?? '3600s'
      t.ok(Number.parseInt(idleTimeout, 10) * 1_000 < IDLE_TIMEOUT_MS, `${file} ${name}: ${idleTimeout}`)
    }
  }
})
