import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { testBrowserClients } from './browser-clients.ts'
import { EXAMPLES, type Ingress, startExample, testIngress } from './ingress.ts'

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

const NGINX = {
  name: 'nginx',
  protocol: 'auth-request',
  hasHeaderPatterns: false,
  adapt: (text: string, dir: string) =>
    text.includes('http {')
      ? `pid ${dir}/nginx.pid;\nerror_log stderr;\ndaemon off;\nmaster_process off;\n${text.replace('http {', `http { access_log off; ${TEMPORARY.map((one) => `${one}_temp_path ${dir}/${one};`).join(' ')}`)}`
      : text,
  command: (dir: string) => ['nginx', '-c', `${dir}/example/nginx.conf`, '-p', dir],
} satisfies Ingress

testIngress(NGINX)

t.test('nginx asks for all decisions on one connection', async (t) => {
  const upstream = await startRecordingUpstream()
  t.teardown(() => upstream.close())
  let connections = 0
  const decisions = createServer((_request, response) => response.end()).on('connection', () => {
    connections += 1
  })
  await once(decisions.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    decisions.closeAllConnections()
    decisions.close()
  })
  const { port } = decisions.address() as AddressInfo
  const to = { decisions: `http://127.0.0.1:${port}`, upstream: upstream.url }
  const url = await startExample(t, { ...NGINX, folder: join(EXAMPLES, 'nginx') }, to)
  for (const path of ['/pub/x', '/.well-known/x', '/pub/y', '/pub/z'])
    t.equal((await send(`${url}${path}`)).status, 200)
  t.equal(connections, 1)
})

testBrowserClients({ ...NGINX, fence: 'nginx' })
