import { testIngress } from './ingress.ts'

testIngress({
  name: 'Caddy',
  protocol: 'forward-auth',
  hasHeaderPatterns: true,
  command: () => ['caddy', 'run', '--config', 'Caddyfile'],
})
