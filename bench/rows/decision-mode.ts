import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startNginxAuthRequest, startNginxDecisions } from '../peers/nginx-auth-request.ts'
import { startNginxProxy } from '../peers/nginx-proxy.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import type { Subject } from '../subject.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const PROXY = 'gateway, forwarded request'
const DECISION = 'gateway, decision'

/**
 * The cost of a decision beside the cost of a forwarded request, with the same policies and a cached token. The row also
 * compares nginx with `auth_request` to the gateway with nginx alone, and with the gateway as the only proxy.
 */
export const decisionMode: Row = {
  name: 'decision-mode',
  run: async (bench) => {
    const { cores, cleanup } = bench
    const common = { cores: cores?.others, folder: bench.folder, cleanup }
    const upstream = await startUpstream(common)
    const load = await startLoad(common)
    const gateway = (name: string, settings: Readonly<Record<string, string>>): Promise<Subject> => {
      const folder = join(bench.folder, name.replaceAll(/\W+/g, '-'))
      mkdirSync(folder)
      return startGatewaySubject({ name, cores, folder, cleanup, upstream: upstream.url, settings })
    }
    const proxy = await gateway(PROXY, {})
    const port = await findFreePort('127.0.0.1')
    const asked = await gateway(DECISION, {
      SCOPEGATE_TRUSTED_PROXIES: '127.0.0.1',
      SCOPEGATE_DECISIONS__LISTEN__HOST: '127.0.0.1',
      SCOPEGATE_DECISIONS__LISTEN__PORT: String(port),
      SCOPEGATE_DECISIONS__PROTOCOL: 'auth-request',
    })
    const url = `http://127.0.0.1:${port}/`
    const decision: Subject = {
      ...asked,
      target: {
        url,
        headers: {
          ...asked.target.headers,
          'x-original-method': 'GET',
          'x-original-uri': new URL(asked.target.url).pathname,
        },
        expectedBody: '',
      },
    }
    const { target } = asked
    const peer = { cores: cores?.server, folder: bench.folder, cleanup, upstream: upstream.url, target }
    const nginx = await startNginxProxy(peer)
    const allowAll = await startNginxAuthRequest(peer)
    const asking = await startNginxDecisions(peer, { ...asked, url })
    const ratio = (of: Subject | undefined, to: Subject | undefined) =>
      of === undefined || to === undefined ? [] : [{ of: of.name, to: to.name, goal: undefined }]
    return {
      title: 'Decision mode: GET with a cached token',
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        ...(nginx === undefined ? { 'missing: nginx': 'not installed' } : {}),
        ...(asking === undefined ? { 'missing: nginx with auth_request': 'not installed' } : {}),
      },
      measured: await measureRounds({
        ...bench,
        subjects: [proxy, decision, nginx, allowAll, asking].filter((subject) => subject !== undefined),
        load,
      }),
      ratios: [
        ...ratio(decision, proxy),
        ...ratio(asking, nginx),
        ...ratio(asking, allowAll),
        ...ratio(asking, proxy),
      ],
    }
  },
}
