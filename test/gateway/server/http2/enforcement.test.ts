import { RICHER_POLICY } from '../../../fixtures/a-decision-endpoint.ts'
import { BASE_URL } from '../../../fixtures/a-gateway.ts'
import { startTlsGateway } from '../../../fixtures/a-tls-gateway.ts'
import { startBridge } from '../../../fixtures/http2-bridge.ts'
import { testEnforcement } from '../../../fixtures/test-enforcement.ts'

testEnforcement({
  name: 'the gateway with HTTP/2',
  hasHeaderPatterns: true,
  async start(t, options) {
    const under = await startTlsGateway(t, {
      http2: true,
      policy: options?.policy ?? RICHER_POLICY,
      change: (config) => ({
        ...config,
        baseUrl: BASE_URL,
        upstreams: config.upstreams.map((one) =>
          one.name === 'api' && options !== undefined ? { ...one, urls: [options.upstream.url] } : one,
        ),
      }),
    })
    const { issuer, upstream } = under
    issuer.store('good', { sub: 'user-1', client_id: 'client-1', scope: 'courses:read' })
    issuer.store('narrow', { sub: 'user-1', client_id: 'client-1', scope: 'posts:read' })
    issuer.store('old', { scope: 'courses:read', auth_time: 1_000 })
    return {
      url: await startBridge(t, under, 'h2'),
      gateway: { url: await startBridge(t, under, 'http/1.1') },
      issuer,
      upstream: options === undefined ? upstream : { ...options.upstream, seen: () => [] },
    }
  },
})
