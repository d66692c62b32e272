import { execFileSync } from 'node:child_process'
import { BenchError } from '../bench-error.ts'
import { findProgram } from '../find-program.ts'
import { startPeer } from '../start-peer.ts'
import type { Subject } from '../subject.ts'
import type { PeerOptions } from './peer-options.ts'
import { startNginx } from './start-nginx.ts'

/**
 * Starts nginx. For each request, nginx calls a Node.js server with `auth_request`. The Node.js server allows every
 * request of the load. The measured CPU time is the total of nginx and the Node.js server.
 * @returns undefined if nginx is not installed, or has no `auth_request`.
 * @throws {BenchError} ERR_BENCH_START if a server does not start, or nginx does not call the Node.js server.
 */
export async function startNginxAuthRequest(options: PeerOptions): Promise<Subject | undefined> {
  const { cores, upstream, target, cleanup } = options
  const program = findProgram('nginx')
  if (program === undefined || !hasAuthRequest(program)) return undefined
  const allowAll = await startPeer({
    name: 'auth_request server',
    program: 'allow-all',
    cores,
    cleanup,
    upstream,
    target,
  })
  const started = await startNginx({
    ...options,
    name: 'nginx with auth_request',
    http: [keptUpstream('behind', upstream), keptUpstream('authorization', allowAll.target.url)].join('\n  '),
    location: `auth_request /authorization; proxy_pass http://behind; ${KEPT}`,
    locations: `location = /authorization { internal; proxy_pass http://authorization; proxy_pass_request_body off; proxy_set_header Content-Length ""; ${KEPT} }`,
  })
  if (started === undefined) return undefined
  const name = `${started.version}, auth_request to Node.js`
  const url = new URL(new URL(target.url).pathname, started.url).href
  await verifyDenies(name, url)
  return {
    name,
    process: started.process,
    helpers: [allowAll.process],
    core: cores,
    target: { ...target, url },
  }
}

const KEPT = 'proxy_http_version 1.1; proxy_set_header Connection "";'

function keptUpstream(name: string, url: string): string {
  return `upstream ${name} { server ${new URL(url).host}; keepalive 64; keepalive_requests 1000000000; }`
}

function hasAuthRequest(program: string): boolean {
  return execFileSync('sh', ['-c', '"$0" -V 2>&1', program], { encoding: 'utf8' }).includes(
    'http_auth_request',
  )
}

/** If nginx does not call the Node.js server, the figures are not comparable. */
async function verifyDenies(name: string, url: string): Promise<void> {
  const { status } = await fetch(url, { headers: { 'x-bench-deny': '1' } })
  if (status !== 403)
    throw new BenchError('ERR_BENCH_START', `${name} returned ${status} for a denied request`)
}
