import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { FollowedGuide } from '../fixtures/follow-guide.ts'
import { followProxyGuide, pointAtGateway, startProxy, testProxy } from '../fixtures/proxy-guide.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { documentedBlock, documentedBlocks } from '../fixtures/repository-texts.ts'
import { send } from '../fixtures/send.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'

// These tests follow the guides for proxies in front of the gateway.
const run = promisify(execFile)

t.test('run-behind-nginx.md puts nginx in front of the gateway', async (t) => {
  const port = await quietPort()
  /** Writes a main configuration that includes the file of the guide. Returns the arguments of nginx. */
  const configure = (guide: FollowedGuide): readonly string[] => {
    const { folder } = guide
    const site = pointAtGateway(guide, '/etc/nginx/conf.d/scopegate.conf')
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ')
    writeFileSync(
      join(folder, 'nginx.conf'),
      `pid ${folder}/nginx.pid;\nerror_log stderr;\ndaemon off;\nmaster_process off;\nevents {}\nhttp { access_log off; ${temporary} include ${site}; }\n`,
    )
    return ['-c', join(folder, 'nginx.conf'), '-p', folder]
  }
  const guide = await followProxyGuide(t, documentedBlocks('docs/run-behind-nginx.md'), {
    port,
    replace: { 'listen 443': `listen 127.0.0.1:${port}`, '/etc/nginx/tls/': 'tls/' },
    commands: {
      'nginx -t': async (guide) => (await run('nginx', ['-t', ...configure(guide)])).stderr,
      async 'nginx -s reload'(guide) {
        await startProxy(t, 'nginx', configure(guide), guide.folder)
        return ''
      },
    },
  })
  await testProxy(t, guide, {
    port,
    requestId: /^[0-9a-f]{32}$/,
    statuses: [
      ['/orders/a%2Fb', 400],
      ['/orders//7', 400],
    ],
  })
})

t.test('run-behind-aws-load-balancers.md configures the gateway for the headers of an ALB', async (t) => {
  const port = await quietPort()
  const guide = await followProxyGuide(t, documentedBlocks('docs/run-behind-aws-load-balancers.md'), {
    port,
    replace: { '10.0.1.0/24': '127.0.0.1/32' },
    others: [
      documentedBlock('docs/run-behind-aws-load-balancers.md', 'aws elbv2 create-target-group'),
      documentedBlock('docs/run-behind-aws-load-balancers.md', 'aws elbv2 modify-load-balancer-attributes'),
    ],
    commands: {
      'curl -i https://api.example.com/orders/7': async ({ url }) =>
        (await run('curl', ['-si', `${url}/orders/7`])).stdout,
    },
  })
  const { url, managementUrl, orders, token } = guide
  const ofAlb = {
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '443',
    'x-amzn-trace-id': 'Root=1-67891233-abcdef012345678912345678',
  }
  for (const entry of ['198.51.100.7', '198.51.100.7:4711']) {
    const headers = { ...ofAlb, 'x-forwarded-for': `203.0.113.9, ${entry}`, 'x-amzn-oidc-identity': 'root' }
    t.equal((await send(`${url}/orders/7`, { token, headers })).status, 200)
    t.same(orders.seen('x-forwarded-for'), ['198.51.100.7'], entry)
    t.same(orders.seen('x-amzn-oidc-identity'), [])
    t.same(orders.seen('x-amzn-trace-id'), [ofAlb['x-amzn-trace-id']])
  }
  const { port: managementPort } = new URL(managementUrl)
  const ofHealthCheck = ['-H', `host: 10.0.1.7:${managementPort}`, '-A', 'ELB-HealthChecker/2.0']
  t.match(
    (await run('curl', ['-si', ...ofHealthCheck, `http://127.0.0.1:${managementPort}/readyz`])).stdout,
    /^HTTP\/1.1 200/,
  )
  const proxyProtocol = 'PROXY TCP4 198.51.100.7 10.0.1.7 4711 8080\r\n'
  const { statuses } = await sendBytes(url, `${proxyProtocol}GET /orders/7 HTTP/1.1\r\nhost: a\r\n\r\n`)
  t.same(statuses, [400])
})

t.test('run-behind-cloudflare.md configures the gateway for the headers of Cloudflare', async (t) => {
  const port = await quietPort()
  const { curl, orders, token } = await followProxyGuide(
    t,
    documentedBlocks('docs/run-behind-cloudflare.md'),
    {
      port,
      env: { SCOPEGATE_LISTEN__PORT: String(port) },
      replace: { '/etc/scopegate/tls/': '../tls/', '131.0.72.0/22': '127.0.0.1/32' },
      others: [documentedBlock('docs/run-behind-cloudflare.md', 'headers: { response')],
    },
  )
  const headers = [
    'cf-connecting-ip: 198.51.100.7',
    'cf-ray: 8f1e2d3c4b5a6978-FRA',
    'cf-visitor: {"scheme":"https"}',
    'cdn-loop: cloudflare; loops=1',
    'x-forwarded-for: 203.0.113.9,198.51.100.7',
    'x-forwarded-proto: https',
  ].flatMap((header) => ['-H', header])
  const url = 'https://api.example.com/orders/7'
  t.match(await curl(...headers, '-H', `authorization: Bearer ${token}`, url), /^HTTP\/1.1 200/)
  t.same(orders.seen('x-forwarded-for'), ['198.51.100.7'])
  t.same(orders.seen('cf-connecting-ip'), [])
})
