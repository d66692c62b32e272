import { createRequire } from 'node:module'
import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import { startPeer } from '../start-peer.ts'
import { UPSTREAM_ANSWER } from '../upstream/answer.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const GATEWAY = 'gateway, cached token'
const HTTP_PROXY = `@fastify/http-proxy ${versionOf('@fastify/http-proxy')}, bare`
const FLOOR = 'raw Node.js http (floor)'

/**
 * What the gateway spends on a request whose token it knows (policy, scopes, metrics, access log, identity headers), against
 * a stock proxy that checks nothing and against the least that this runtime can do.
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
    // The peers get the very same request, although only the gateway reads the token.
    const peer = { cores: cores?.server, cleanup, upstream: upstream.url, target: gateway.target }
    const subjects = [
      gateway,
      await startPeer({ ...peer, name: HTTP_PROXY, program: 'http-proxy' }),
      await startPeer({ ...peer, name: FLOOR, program: 'raw-node' }),
    ]
    return {
      title: `Cached token: GET of ${UPSTREAM_ANSWER.length} bytes of JSON`,
      conditions: { load: `${load.name}, ${load.connections} connections`, upstream: upstream.name },
      measured: await measureRounds({ ...bench, subjects, load }),
      ratios: [
        { of: GATEWAY, to: HTTP_PROXY, goal: 0.55 },
        { of: GATEWAY, to: FLOOR, goal: 1.4 },
      ],
    }
  },
}

function versionOf(name: string): string {
  return createRequire(import.meta.url)(`${name}/package.json`).version
}
