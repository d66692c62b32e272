import t from 'tap'
import { describeProofFault } from '../../../gateway/pipeline/describe-proof-fault.ts'
import type { ProofFault } from '../../../policy-engine/decide/proof-fault.ts'

/** The term in each description that identifies the fault. A literal copy, independent of the code. */
const TERMS: Readonly<Record<ProofFault, string>> = {
  missing: 'header DPoP',
  repeated: 'more than one',
  malformed: 'compact',
  wrong_type: 'dpop+jwt',
  wrong_algorithm: 'algs',
  bad_key: 'public key',
  bad_signature: 'key in jwk',
  wrong_method: 'htm',
  wrong_address: 'htu',
  wrong_token: 'ath',
  not_recent: 'iat',
  bad_id: 'jti',
  replayed: 'used before',
}

t.test('describeProofFault() names the fault of the proof', async (t) => {
  const faults = Object.keys(TERMS) as ProofFault[]
  for (const fault of faults) t.ok(describeProofFault(fault).includes(TERMS[fault]), fault)
  t.equal(
    new Set(faults.map(describeProofFault)).size,
    faults.length,
    'each fault has a different description',
  )
})
