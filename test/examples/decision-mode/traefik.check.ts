import { testBrowserClients } from './browser-clients.ts'
import { type Ingress, testIngress } from './ingress.ts'

const program = process.env['SCOPEGATE_TRAEFIK']
if (program === undefined)
  throw new Error('SCOPEGATE_TRAEFIK must name the program. Start this test with: npm run ingresses')

const TRAEFIK: Ingress = {
  name: 'Traefik',
  protocol: 'forward-auth',
  hasHeaderPatterns: true,
  command: () => [program, '--configFile=traefik.yaml'],
}

testIngress(TRAEFIK)
testBrowserClients({
  ...TRAEFIK,
  fence: 'traefik',
  responses: [
    ['access-control-allow-origin', ['https://app.example']],
    ['access-control-expose-headers', ['WWW-Authenticate', 'DPoP-Nonce', 'Retry-After', 'X-Request-Id']],
    ['vary', ['Origin']],
  ],
})
