import t from 'tap'
import {
  type Confirmation,
  checkConfirmation,
  type PossessionProof,
  readConfirmation,
} from '../../../policy-engine/decide/confirmation.ts'

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

const OWN = 'A'.repeat(43)
const OTHER = 'B'.repeat(43)
const dpop: Confirmation = { kind: 'dpop', thumbprint: OWN }
const mtls: Confirmation = { kind: 'mtls', thumbprint: OWN }

t.test('checkConfirmation() accepts a token only with its key and its binding method', async (t) => {
  const rows: readonly (readonly [
    Confirmation | undefined,
    PossessionProof['scheme'],
    string | undefined,
    unknown,
  ])[] = [
    [undefined, 'bearer', undefined, undefined],
    [undefined, 'bearer', OWN, undefined],
    [undefined, 'dpop', undefined, 'not_bound'],
    [undefined, 'dpop', OWN, 'not_bound'],
    [dpop, 'dpop', OWN, undefined],
    [dpop, 'dpop', OTHER, 'wrong_key'],
    [dpop, 'dpop', undefined, 'wrong_key'],
    [dpop, 'bearer', OWN, 'proof_missing'],
    [dpop, 'bearer', undefined, 'proof_missing'],
    [mtls, 'bearer', OWN, undefined],
    [mtls, 'bearer', OTHER, 'wrong_certificate'],
    [mtls, 'bearer', undefined, 'certificate_missing'],
    [mtls, 'dpop', OWN, 'not_bound'],
  ]
  for (const [confirmation, scheme, thumbprint, reason] of rows)
    t.same(
      checkConfirmation(confirmation, { scheme, thumbprint })?.reason,
      reason,
      `${confirmation?.kind} ${scheme} ${thumbprint}`,
    )
})
