import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import { aCertificate } from '../fixtures/a-certificate.ts'
import { type JwtIssuer, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { type FollowedGuide, followGuide } from '../fixtures/follow-guide.ts'
import { type RecordingUpstream, startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'
import { until } from '../fixtures/until.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

// These tests follow the guides for proxies in front of the gateway.
const run = promisify(execFile)
const API = 'https://api.example.com'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: orders
upstream: orders
defaults: { anonymous: challenge, bodyLimit: 1KiB }
routes:
  - { name: orders, match: { methods: [GET, POST], path: "/orders/**" }, scopes: { all: ["orders:read"] } }
`
const LIVE = `apiVersion: scopegate/v1
kind: Policy
name: live
upstream: live
routes:
  - { name: live, match: { methods: [GET], path: /live }, anonymous: challenge, websocket: true }
`

type Started = FollowedGuide & {
  readonly issuer: JwtIssuer
  readonly orders: RecordingUpstream
  readonly token: string
  /** Sends a request to the public name. Returns the output of curl. */
  curl(...args: readonly string[]): Promise<string>
}

/** Follows a guide with an issuer, a service, and a proxy that listens on `port`. */
async function follow(
  t: Test,
  page: string,
  options: {
    readonly port: number
    readonly replace: Readonly<Record<string, string>>
    readonly commands: Readonly<Record<string, (guide: FollowedGuide) => Promise<string>>>
  },
): Promise<Started> {
  const issuer = await startJwtIssuer()
  const orders = await startRecordingUpstream()
  const live = await startWebsocketUpstream()
  t.teardown(() => Promise.all([issuer.close(), orders.close(), live.close()]))
  const { cert, key } = aCertificate({ names: ['api.example.com'] })
  const guide = await followGuide(t, `docs/${page}`, {
    ...options,
    files: {
      'config/gateway.yaml': `name: Example API\nissuers: [{ issuer: "${issuer.issuer}", jwt: {} }]\n`,
      'config/upstreams.yaml': `orders: { url: "${orders.url}" }\nlive: { url: "${live.url}" }\n`,
      'config/scopes.yaml':
        'scopes: [{ name: "orders:read", description: See orders, group: Orders, sensitivity: read }]\n',
      'policies/orders.policy.yaml': POLICY,
      'policies/live.policy.yaml': LIVE,
      'tls/tls.crt': cert,
      'tls/tls.key': key,
      '.curlrc': `connect-to = "api.example.com:443:127.0.0.1:${options.port}"\ncacert = "tls/tls.crt"\n`,
    },
  })
  return {
    ...guide,
    url: guide.url,
    issuer,
    orders,
    token: issuer.sign({ aud: API, scope: 'orders:read' }),
    async curl(...args) {
      const environment = { ...plainEnvironment(), HOME: guide.folder }
      return (await run('curl', ['-si', ...args], { cwd: guide.folder, env: environment })).stdout
    },
  }
}

t.test('run-behind-nginx.md puts nginx in front of the gateway', async (t) => {
  const port = await findFreePort('127.0.0.1')
  /** Writes a main configuration that includes the file of the guide. Returns the arguments of nginx. */
  const configure = ({ folder, url }: FollowedGuide): readonly string[] => {
    const site = join(folder, '/etc/nginx/conf.d/scopegate.conf')
    const text = readFileSync(site, 'utf8')
    writeFileSync(site, text.replace('127.0.0.1:8080', new URL(url).host))
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ')
    writeFileSync(
      join(folder, 'nginx.conf'),
      `pid ${folder}/nginx.pid;\nerror_log stderr;\ndaemon off;\nmaster_process off;\nevents {}\nhttp { access_log off; ${temporary} include ${site}; }\n`,
    )
    return ['-c', join(folder, 'nginx.conf'), '-p', folder]
  }
  const { curl, orders, token, issuer } = await follow(t, 'run-behind-nginx.md', {
    port,
    replace: { 'listen 443': `listen 127.0.0.1:${port}`, '/etc/nginx/tls/': 'tls/' },
    commands: {
      'nginx -t': async (guide) => (await run('nginx', ['-t', ...configure(guide)])).stderr,
      async 'nginx -s reload'(guide) {
        const child = spawn('nginx', configure(guide), { stdio: 'ignore' })
        t.teardown(async () => {
          child.kill()
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
        })
        await until('nginx listens', () =>
          run('curl', ['-sk', `https://127.0.0.1:${port}/`]).then(
            () => true,
            () => false,
          ),
        )
        return ''
      },
    },
  })
XX
})
