import t from 'tap'
import { followProxyGuide, pointAtGateway, startProxy, testProxy } from '../fixtures/proxy-guide.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { documentedBlocks } from '../fixtures/repository-texts.ts'

const program = process.env['SCOPEGATE_TRAEFIK'] ?? ''

t.test('run-behind-traefik.md puts Traefik in front of the gateway', async (t) => {
  t.not(program, '', 'npm run ingresses sets SCOPEGATE_TRAEFIK')
  const port = await quietPort()
  const guide = await followProxyGuide(t, documentedBlocks('docs/run-behind-traefik.md'), {
    port,
    replace: {
      '":443"': `"127.0.0.1:${port}"`,
      '/etc/traefik/tls/': 'tls/',
      '/etc/traefik/routes': 'etc/traefik/routes',
    },
    commands: {
      async 'traefik --configFile=/etc/traefik/traefik.yaml'(guide) {
        pointAtGateway(guide, 'etc/traefik/routes.yaml')
        await startProxy(t, program, ['--configFile=etc/traefik/traefik.yaml'], guide.folder)
        return ''
      },
    },
  })
  await testProxy(t, guide, {
    port,
    requestId: /^(?!forged$)[\w-]+$/,
    statuses: [
      ['/orders/a%2Fb', 400],
      ['/orders//7', 200], // Traefik forwards /orders/7
    ],
  })
})
