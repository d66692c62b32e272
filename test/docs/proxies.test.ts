import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import type { FollowedGuide } from '../fixtures/follow-guide.ts'
import { followProxyGuide, pointAtGateway, startProxy, testProxy } from '../fixtures/proxy-guide.ts'

// These tests follow the guides for proxies in front of the gateway.
const run = promisify(execFile)

t.test('run-behind-nginx.md puts nginx in front of the gateway', async (t) => {
  const port = await findFreePort('127.0.0.1')
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
  const guide = await followProxyGuide(t, 'run-behind-nginx.md', {
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
