import { testBrowserClients } from './browser-clients.ts'
import { type Ingress, testIngress } from './ingress.ts'

const CADDY: Ingress = {
  name: 'Caddy',
  protocol: 'forward-auth',
  hasHeaderPatterns: true,
  command: () => ['caddy', 'run', '--config', 'Caddyfile'],
}

testIngress(CADDY)
testBrowserClients({ ...CADDY, fence: 'caddy' })
