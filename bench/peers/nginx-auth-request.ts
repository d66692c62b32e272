import { execFileSync } from 'node:child_process'
import { BenchError } from '../bench-error.ts'
import { findProgram } from '../find-program.ts'
import { startPeer } from '../start-peer.ts'
import type { BenchProcess } from '../start-process.ts'
import type { Subject } from '../subject.ts'
import type { PeerOptions } from './peer-options.ts'
import { startNginx } from './start-nginx.ts'

/** The server that nginx calls for each request. */
type Authorizer = {
  readonly name: string
  readonly url: string
  readonly process: BenchProcess
  /** Directives of the location that calls the server. */
  readonly ask?: string
  /** Directives of the location that forwards allowed requests. */
  readonly copy?: string
  /** Checks after each load that the server did all its work. */
  readonly verify?: Subject['verify'] | undefined
  /** The server must respond with `status` to a request with these headers. */
  readonly denied: { readonly headers: Readonly<Record<string, string>>; readonly status: number }
}

const IDENTITY = { subject: 'Subject', client: 'Client-Id', scope: 'Scope', issuer: 'Issuer' }
/**
 * The directives of examples/decision-mode/nginx/nginx.conf for allowed requests. The benchmark also keeps the connections
 * to the gateway and to the upstream open.
 */
const SCOPEGATE = {
  ask: 'proxy_set_header X-Original-Method $request_method; proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Forwarded-For $remote_addr;',
  copy: Object.entries(IDENTITY)
    .map(
      ([variable, header]) =>
        `auth_request_set $auth_${variable} $upstream_http_x_auth_${header.toLowerCase().replace('-', '_')}; proxy_set_header X-Auth-${header} $auth_${variable};`,
    )
    .concat('proxy_set_header Authorization ""; proxy_set_header X-Forwarded-For $remote_addr;')
    .join(' '),
  denied: { headers: { authorization: 'Bearer invalid' }, status: 401 },
} satisfies Partial<Authorizer>

/**
 * Starts nginx. For each request, nginx calls a Node.js server with `auth_request`. The Node.js server allows every
 * request of the load. The measured CPU time is the total of nginx and the Node.js server.
 * @returns undefined if nginx is not installed, or has no `auth_request`.
 * @throws {BenchError} ERR_BENCH_START if a server does not start, or nginx does not call the Node.js server.
 */
export async function startNginxAuthRequest(options: PeerOptions): Promise<Subject | undefined> {
  if (!hasAuthRequest()) return undefined
  const allowAll = await startPeer({ ...options, name: 'auth_request server', program: 'allow-all' })
  return startNginxWith(options, {
    name: 'auth_request to Node.js',
    url: allowAll.target.url,
    process: allowAll.process,
    denied: { headers: { 'x-bench-deny': '1' }, status: 403 },
  })
}

/**
 * Starts nginx. For each request, nginx calls the decision endpoint of a gateway, and copies the identity headers to the
 * forwarded request. The measured CPU time is the total of nginx and the gateway.
 * @param decisions the gateway, and the URL of its decision endpoint.
 * @returns undefined if nginx is not installed, or has no `auth_request`.
 * @throws {BenchError} ERR_BENCH_START if nginx does not start, or does not call the gateway.
 */
export async function startNginxDecisions(
  options: PeerOptions,
  decisions: Pick<Authorizer, 'url' | 'process' | 'verify'>,
): Promise<Subject | undefined> {
  if (!hasAuthRequest()) return undefined
  return startNginxWith(options, { ...SCOPEGATE, ...decisions, name: 'auth_request to Scopegate' })
}

async function startNginxWith(options: PeerOptions, server: Authorizer): Promise<Subject | undefined> {
  const { cores, upstream, target } = options
  const started = await startNginx({
    ...options,
    name: `nginx with ${server.name}`,
    http: [keptUpstream('behind', upstream), keptUpstream('authorization', server.url)].join('\n  '),
    location: `auth_request /authorization; proxy_pass http://behind; ${KEPT} ${server.copy ?? ''}`,
    locations: `location = /authorization { internal; proxy_pass http://authorization; proxy_pass_request_body off; proxy_set_header Content-Length ""; ${KEPT} ${server.ask ?? ''} }`,
  })
  if (started === undefined) return undefined
  const name = `${started.version}, ${server.name}`
  const url = new URL(new URL(target.url).pathname, started.url).href
  await verifyDenies(name, url, server.denied)
  return {
    name,
    process: started.process,
    helpers: [server.process],
    core: cores,
    target: { ...target, url },
    ...(server.verify && { verify: server.verify }),
  }
}

const KEPT = 'proxy_http_version 1.1; proxy_set_header Connection "";'

function keptUpstream(name: string, url: string): string {
  return `upstream ${name} { server ${new URL(url).host}; keepalive 64; keepalive_requests 1000000000; }`
}

function hasAuthRequest(): boolean {
  const program = findProgram('nginx')
  if (program === undefined) return false
  return execFileSync('sh', ['-c', '"$0" -V 2>&1', program], { encoding: 'utf8' }).includes(
    'http_auth_request',
  )
}

/** If nginx does not call the server, the figures are not comparable. */
async function verifyDenies(name: string, url: string, denied: Authorizer['denied']): Promise<void> {
  const { status } = await fetch(url, { headers: denied.headers })
  if (status !== denied.status)
    throw new BenchError('ERR_BENCH_START', `${name} returned ${status} for a denied request`)
}
