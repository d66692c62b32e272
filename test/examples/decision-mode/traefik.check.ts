import { testIngress } from './ingress.ts'

const program = process.env['SCOPEGATE_TRAEFIK']
if (program === undefined)
  throw new Error('SCOPEGATE_TRAEFIK must name the program. Start this test with: npm run ingresses')

testIngress({
  name: 'Traefik',
  protocol: 'forward-auth',
  hasHeaderPatterns: true,
  command: () => [program, '--configFile=traefik.yaml'],
})
