import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quietPort } from '../../test/fixtures/quiet-port.ts'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { findProgram } from '../find-program.ts'
import { startProcess } from '../start-process.ts'
import { waitForPort } from '../wait-for-port.ts'
import type { ServicePorts } from './revocation-cluster.ts'

/**
 * Starts HAProxy as two load balancers, one for the gateways and one for the authorization servers. HAProxy selects the
 * ready processes in rotation, like a Service of Kubernetes. It reads `/readyz` of each process every 200 ms. If a
 * process refuses the connection, HAProxy connects to the next process. It repeats no request that it has sent. Its log in
 * `folder` contains each request, each health check with a new result, and each change of a server.
 * @returns the URLs of both load balancers.
 * @throws {BenchError} ERR_BENCH_START if HAProxy is not installed or does not start.
 */
export async function startBalancers(
  { folder, cleanup }: { readonly folder: string; readonly cleanup: Cleanup },
  services: { readonly gateways: readonly ServicePorts[]; readonly servers: readonly ServicePorts[] },
): Promise<{ readonly gateways: string; readonly servers: string }> {
  const program = findProgram('haproxy')
  if (program === undefined)
    throw new BenchError('ERR_BENCH_START', 'HAProxy is missing: install the package haproxy.')
  const gateways = await quietPort()
  const servers = await quietPort()
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(
    file,
    `${DEFAULTS}${section('gateways', gateways, services.gateways)}${section('servers', servers, services.servers)}`,
  )
  const command = [program, '-db', '-f', file]
  const stdout = openSync(join(folder, 'haproxy.log'), 'a')
  const started = startProcess({ name: 'haproxy', command, cores: undefined, cleanup, stdout })
  await waitForPort(started, gateways)
  return { gateways: `http://127.0.0.1:${gateways}`, servers: `http://127.0.0.1:${servers}` }
}

const DEFAULTS = `global
  maxconn 4000
  log stdout format timed local0
defaults
  mode http
  log global
  option httplog
  option log-health-checks
  balance roundrobin
  option http-server-close
  option redispatch 1
  option httpchk GET /readyz
  retries 5
  retry-on conn-failure
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 2s
  default-server inter 200ms fall 1 rise 1
`

function section(name: string, port: number, services: readonly ServicePorts[]): string {
  const servers = services.map(
    (own, index) => `  server ${index} 127.0.0.1:${own.port} check port ${own.managementPort}\n`,
  )
  return `listen ${name}\n  bind 127.0.0.1:${port}\n${servers.join('')}`
}
