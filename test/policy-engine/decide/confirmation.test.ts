import t from 'tap'
import { readConfirmation } from '../../../policy-engine/decide/confirmation.ts'

const THUMBPRINT = 'A'.repeat(43)

t.test(
  'RFC 9449 §6.1, RFC 8705 §3.1: cnf.jkt binds to a DPoP key, cnf.x5t#S256 to a certificate',
  async (t) => {
    t.same(readConfirmation({ jkt: THUMBPRINT }), { kind: 'dpop', thumbprint: THUMBPRINT })
    t.same(readConfirmation({ 'x5t#S256': THUMBPRINT }), { kind: 'mtls', thumbprint: THUMBPRINT })
    t.equal(readConfirmation(undefined), undefined)
  },
)

for (const cnf of [
  null,
  {},
  [],
  '',
  1,
  { jkt: 1 },
  { jkt: 'short' },
  { jkt: `${THUMBPRINT}=` },
  { jwk: {} },
  { kid: 'x' },
  { jkt: THUMBPRINT, 'x5t#S256': THUMBPRINT },
  { jkt: THUMBPRINT, extra: 1 },
  { constructor: THUMBPRINT },
])
  t.test(`RFC 7800 §3.1: cnf ${JSON.stringify(cnf).slice(0, 40)} is an unsupported binding`, async (t) => {
    t.equal(readConfirmation(cnf), 'unknown')
  })
