import { testIngress } from './ingress.ts'

const program = process.env['SCOPEGATE_ENVOY']
if (program === undefined)
  throw new Error('SCOPEGATE_ENVOY must name the program. Start this test with: npm run ingresses')

for (const [name, protocol, file] of [
  ['Envoy', 'ext-authz-grpc', 'envoy.yaml'],
  ['Envoy over HTTP', 'ext-authz-http', 'envoy-http.yaml'],
] as const)
  testIngress({
    name,
    protocol,
    hasHeaderPatterns: true,
    command: () => [program, '-c', file, '--use-dynamic-base-id', '--concurrency', '2', '-l', 'warn'],
  })
