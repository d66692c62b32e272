import { createRequire } from 'node:module'
import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startHaproxyJwt } from '../peers/haproxy-jwt.ts'
import { startNginxProxy } from '../peers/nginx-proxy.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import { startPeer } from '../start-peer.ts'
import type { Subject } from '../subject.ts'
import { UPSTREAM_ANSWER } from '../upstream/answer.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const GATEWAY = 'gateway, cached token'
const HTTP_PROXY = `@fastify/http-proxy ${versionOf('@fastify/http-proxy')}, bare`
const FLOOR = 'raw Node.js http (floor)'

/**
 * What the gateway spends on a request whose token it knows (policy, scopes, metrics, access log, identity headers), against
 * a stock proxy that checks nothing, C proxies that check nothing or a signature each time, and the least that this runtime
 * can do.
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
    // The peers get the very same request, although only the gateway reads the token; HAProxy gets a JWT in its place.
    const peer = { cores: cores?.server, folder, cleanup, upstream: upstream.url, target: gateway.target }
    const nginx = await startNginxProxy(peer)
    const rs256 = await startHaproxyJwt({ ...peer, algorithm: 'RS256' })
    const es256 = await startHaproxyJwt({ ...peer, algorithm: 'ES256' })
    const subjects = [
      gateway,
      await startPeer({ ...peer, name: HTTP_PROXY, program: 'http-proxy' }),
      await startPeer({ ...peer, name: FLOOR, program: 'raw-node' }),
      nginx,
      rs256,
      es256,
    ].filter((subject) => subject !== undefined)
    return {
      title: `Cached token: GET of ${UPSTREAM_ANSWER.length} bytes of JSON`,
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        ...(nginx === undefined ? { 'missing: nginx': 'not installed' } : {}),
        ...(rs256 === undefined ? { 'missing: HAProxy': 'not installed' } : {}),
      },
      measured: await measureRounds({ ...bench, subjects, load }),
      ratios: [
        { of: GATEWAY, to: HTTP_PROXY, goal: 0.55 },
        { of: GATEWAY, to: FLOOR, goal: 1.4 },
        ...goalAgainst(rs256, 1),
        ...goalAgainst(es256, 0.45),
      ],
    }
  },
}

function goalAgainst(peer: Subject | undefined, goal: number) {
  return peer === undefined ? [] : [{ of: GATEWAY, to: peer.name, goal }]
}

function versionOf(name: string): string {
  return createRequire(import.meta.url)(`${name}/package.json`).version
}
