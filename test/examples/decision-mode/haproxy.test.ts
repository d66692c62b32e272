import { testIngress } from './ingress.ts'

testIngress({
  name: 'HAProxy',
  protocol: 'forward-auth',
  hasHeaderPatterns: true,
  command: () => ['haproxy', '-f', 'haproxy.cfg'],
})
