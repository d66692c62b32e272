import t from 'tap'
import { headerKind } from '../../policy-engine/match/header-kind.ts'

t.test('certificate headers of an ingress are never forwarded, in any spelling', async (t) => {
  for (const name of ['cert', 'verify', 'subject-dn', 'issuer-dn'].map((what) => `ssl-client-${what}`)) {
    t.equal(headerKind(name), 'managed', name)
    t.equal(headerKind(name.replaceAll('-', '_')), 'managed', name)
  }
})
