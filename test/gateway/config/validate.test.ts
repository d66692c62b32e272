import t from 'tap'
import type { GatewayFile } from '../../../gateway/config/gateway-file.ts'
import { findUntrustedCertificates, findUntrustedDecisions } from '../../../gateway/config/validate.ts'

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
