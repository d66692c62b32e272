import t from 'tap'
import { checkConfirmation } from '../../../policy-engine/decide/check-confirmation.ts'
import type { Confirmation } from '../../../policy-engine/decide/confirmation.ts'
import type { PossessionProof } from '../../../policy-engine/decide/possession-proof.ts'

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
