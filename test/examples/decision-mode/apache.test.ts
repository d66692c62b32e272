import { testBrowserClients } from './browser-clients.ts'
import { type Ingress, testIngress } from './ingress.ts'

const MODULES = ['mpm_event', 'authz_core', 'headers', 'lua', 'proxy', 'proxy_http']

const APACHE: Ingress = {
  name: 'Apache',
  protocol: 'forward-auth',
  silentStatus: 503,
  hasHeaderPatterns: true,
  foreignStatus: 503,
  adapt: (text, dir) =>
    text.includes('ServerName')
      ? `ServerRoot ${dir}/example\nPidFile ${dir}/pid\nErrorLog ${dir}/error.log\n${MODULES.map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so\n`).join('')}User www-data\nGroup www-data\n${text}`
      : text,
  command: (dir) => ['apache2', '-X', '-f', `${dir}/example/httpd.conf`],
}

testIngress(APACHE)
testBrowserClients({ ...APACHE, fence: 'apache' })
