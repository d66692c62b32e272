import { createRequire } from 'node:module'
import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startHaproxyJwt } from '../peers/haproxy-jwt.ts'
import { startNginxAuthRequest } from '../peers/nginx-auth-request.ts'
import { startNginxProxy } from '../peers/nginx-proxy.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import { startPeer } from '../start-peer.ts'
import type { Subject } from '../subject.ts'
import { UPSTREAM_RESPONSE } from '../upstream/response.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const GATEWAY = 'gateway, cached token'
const HTTP_PROXY = `@fastify/http-proxy ${versionOf('@fastify/http-proxy')}, bare`
const RAW_HTTP = 'raw Node.js http'
const FLOOR = 'plain Node.js sockets (floor)'

/**
 * The cost of a request with a cached token. Includes policy, scopes, metrics, access log and identity headers. The row
 * compares the gateway with:
 * - a common Node.js proxy without authorization
 * - proxies in C: without authorization, with a call to another process, and with a signature check for each request
 * - the minimum cost of Node.js
 */
export const cachedToken: Row = {
  name: 'cached-token',
  run: async (bench) => {
    const { cores, folder, cleanup } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder, cleanup })
    const load = await startLoad({ cores: cores?.others, folder, cleanup })
    const gateway = await startGatewaySubject({
      name: GATEWAY,
      cores,
      folder,
      cleanup,
      upstream: upstream.url,
    })
    // All peers except HAProxy get the request of the gateway, although only the gateway reads the token. HAProxy gets
    // a JWT instead.
    const peer = { cores: cores?.server, folder, cleanup, upstream: upstream.url, target: gateway.target }
    const nginx = await startNginxProxy(peer)
    const authRequest = await startNginxAuthRequest(peer)
    const rs256 = await startHaproxyJwt({ ...peer, algorithm: 'RS256' })
    const es256 = await startHaproxyJwt({ ...peer, algorithm: 'ES256' })
    const subjects = [
      gateway,
      await startPeer({ ...peer, name: HTTP_PROXY, program: 'http-proxy' }),
      await startPeer({ ...peer, name: RAW_HTTP, program: 'raw-node' }),
      await startPeer({ ...peer, name: FLOOR, program: 'plain-sockets' }),
      nginx,
      authRequest,
      rs256,
      es256,
    ].filter((subject) => subject !== undefined)
    return {
      title: `Cached token: GET of ${UPSTREAM_RESPONSE.length} bytes of JSON`,
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        ...(nginx === undefined ? { 'missing: nginx': 'not installed' } : {}),
        ...(authRequest === undefined ? { 'missing: nginx with auth_request': 'not installed' } : {}),
        ...(rs256 === undefined ? { 'missing: HAProxy': 'not installed' } : {}),
      },
      measured: await measureRounds({ ...bench, subjects, load }),
      ratios: [
        { of: GATEWAY, to: HTTP_PROXY, goal: 0.55 },
        { of: GATEWAY, to: RAW_HTTP, goal: 1.4 },
        { of: GATEWAY, to: FLOOR, goal: undefined },
        ...ratioTo(authRequest, undefined),
        ...ratioTo(rs256, 1),
        ...ratioTo(es256, 0.45),
      ],
    }
  },
}

function ratioTo(peer: Subject | undefined, goal: number | undefined) {
  return peer === undefined ? [] : [{ of: GATEWAY, to: peer.name, goal }]
}

function versionOf(name: string): string {
  return createRequire(import.meta.url)(`${name}/package.json`).version
}
