import type { Subject } from '../subject.ts'
import type { PeerOptions } from './peer-options.ts'
import { startNginx } from './start-nginx.ts'

/**
 * Starts nginx as a plain proxy with keep-alive connections to the upstream. nginx authorizes no requests and writes no
 * log.
 * @returns undefined if nginx is not installed.
 */
export async function startNginxProxy(options: PeerOptions): Promise<Subject | undefined> {
  const { cores, upstream, target } = options
  const name = 'nginx'
  const started = await startNginx({
    ...options,
    name,
    http: `upstream behind { server ${new URL(upstream).host}; keepalive 64; keepalive_requests 1000000000; }`,
    location: 'proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";',
  })
  if (started === undefined) return undefined
  return {
    name: `${started.version}, plain proxy`,
    process: started.process,
    core: cores,
    target: { ...target, url: new URL(new URL(target.url).pathname, started.url).href },
  }
}
