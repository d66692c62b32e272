import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { aPluginConfig } from '../../fixtures/a-fastify-service.ts'
import { testEnforcement } from '../../fixtures/test-enforcement.ts'
import { startExample } from '../decision-mode/ingress.ts'

const FOLDER = resolve(import.meta.dirname, '../../../examples/fastify-gateway')
const PLUGIN = pathToFileURL(resolve(import.meta.dirname, '../../../gateway/fastify/plugin.ts')).href

testEnforcement({
  name: '@fastify/http-proxy',
  hasHeaderPatterns: true,
  async start(t, options) {
    const { gateway, upstream, issuer, policy } = await startDecisionEndpoint(t, 'forward-auth', {
      policy: options?.policy,
    })
    const requests = options?.upstream ?? upstream
    const configDir = aPluginConfig(t, { issuer, policy })
    const url = await startExample(
      t,
      {
        name: 'Fastify',
        folder: FOLDER,
        adapt: (text) =>
          text
            .replace("join(import.meta.dirname, 'config')", JSON.stringify(configDir))
            .replace("'scopegate/fastify'", `'${PLUGIN}'`)
            .replace(/from '(@?fastify[^']*)'/g, (_, name) => `from '${import.meta.resolve(name)}'`),
        command: () => ['node', 'server.js'],
      },
      { upstream: requests.url },
    )
    return { url, gateway, issuer, upstream: { requests: requests.requests, seen: upstream.seen } }
  },
})
