import t from 'tap'
import type { GatewayFile } from '../../../gateway/config/gateway-file.ts'
import {
  findUntrustedCertificates,
  findUntrustedDecisions,
  findUnusableHeaders,
} from '../../../gateway/config/validate.ts'

t.test('C351: a client certificate header requires trustedProxies', async (t) => {
  const header = { name: 'ssl-client-cert', format: 'pem-url' } as const
  const of = (file: Partial<GatewayFile>) =>
    findUntrustedCertificates(file as GatewayFile, 'gateway.yaml').map(({ code }) => code)
  t.same(of({}), [])
  t.same(of({ clientCertificateHeader: header, trustedProxies: ['10.0.0.0/8'] }), [])
  t.same(of({ clientCertificateHeader: header }), ['C351'])
  t.same(of({ clientCertificateHeader: header, trustedProxies: [] }), ['C351'])
})

t.test('C352: decisions require trustedProxies', async (t) => {
  const decisions = { listen: { host: '127.0.0.1', port: 4010 }, protocol: 'auth-request' } as const
  const of = (file: Partial<GatewayFile>) =>
    findUntrustedDecisions(file as GatewayFile, 'gateway.yaml').map(({ code }) => code)
  t.same(of({}), [])
  t.same(of({ decisions, trustedProxies: ['10.0.0.0/8'] }), [])
  t.same(of({ decisions }), ['C352'])
  t.same(of({ decisions, trustedProxies: [] }), ['C352'])
})

t.test('C353: the headers of decisions require a protocol with headers, and different names', async (t) => {
  const of = (
    protocol: NonNullable<GatewayFile['decisions']>['protocol'],
    headers?: NonNullable<GatewayFile['decisions']>['headers'],
  ) => {
    const decisions = {
      listen: { host: '127.0.0.1', port: 4010 },
      protocol,
      ...(headers !== undefined && { headers }),
    }
    return findUnusableHeaders({ decisions } as GatewayFile, 'gateway.yaml').map(({ code }) => code)
  }
  t.same(findUnusableHeaders({} as GatewayFile, 'gateway.yaml'), [])
  t.same(of('ext-authz-grpc'), [])
  t.same(of('auth-request', { method: 'X-Method', target: 'X-Target', clientAddress: 'X-Real-IP' }), [])
  t.same(of('forward-auth', { target: 'X-Forwarded-URL' }), [])
  for (const protocol of ['ext-authz-http', 'ext-authz-grpc'] as const)
    t.same(of(protocol, { clientAddress: 'X-Real-IP' }), ['C353'], protocol)
  t.same(of('auth-request', { method: 'X-One', target: 'x-one' }), ['C353'])
  t.same(of('auth-request', { method: 'X-Original-URI' }), ['C353'], 'the default name of the target')
  t.same(of('forward-auth', { clientAddress: 'X-Forwarded-Method' }), ['C353'])
  t.same(of('auth-request', { method: 'X-Forwarded-URI' }), ['C353'], 'the target of another protocol')
  t.same(
    of('forward-auth', { clientAddress: 'X-Original-Method' }),
    ['C353'],
    'the method of another protocol',
  )
  t.same(of('forward-auth', { method: 'X-Original-Method' }), [], 'the same value with another protocol')
  const [problem] = findUnusableHeaders(
    {
      decisions: {
        listen: { host: '127.0.0.1', port: 4010 },
        protocol: 'auth-request',
        headers: { method: 'X-Forwarded-URI', target: 'X-Target' },
      },
    } as GatewayFile,
    'gateway.yaml',
  )
  t.match(problem, {
    message: 'decisions.headers: method must not have the usual name of target (got x-forwarded-uri)',
  })
})
