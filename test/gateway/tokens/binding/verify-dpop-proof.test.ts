import { sign } from 'node:crypto'
import t from 'tap'
import { createNonces } from '../../../../gateway/tokens/binding/nonces.ts'
import { createUsedProofs } from '../../../../gateway/tokens/binding/used-proofs.ts'
import { verifyProof } from '../../../../gateway/tokens/binding/verify-dpop-proof.ts'
import { aProof, aProofKey, type ProofOptions } from '../../../fixtures/dpop-proof.ts'

const URL = 'https://api.test/api/courses'
const KEY = aProofKey()
const THIEF = aProofKey()
const NONCES = createNonces('x'.repeat(32))
const NOW = Math.floor(Date.now() / 1_000)
const GOOD: ProofOptions = { key: KEY, url: URL, token: 'token', claims: { jti: 'id', iat: NOW } }

function verify(
  text: string,
  used: ReturnType<typeof createUsedProofs>,
  nonces: typeof NONCES | undefined = undefined,
) {
  return verifyProof(
    text,
    {
      method: 'GET',
      isAddress: (htu) => htu === URL,
      token: 'token',
      nowSeconds: NOW,
      thumbprint: KEY.thumbprint,
    },
    { used, nonces },
  )
}

function resigned(change: (signature: Buffer, input: string) => Buffer): string {
  const proof = aProof(GOOD)
  const at = proof.lastIndexOf('.')
  const signature = change(Buffer.from(proof.slice(at + 1), 'base64url'), proof.slice(0, at))
  return `${proof.slice(0, at)}.${signature.toString('base64url')}`
}

/** Proofs with a valid jti. The gateway rejects these proofs for another reason. */
const REJECTED: Readonly<Record<string, string>> = {
  'junk with a copied head and body': `${aProof(GOOD).split('.').slice(0, 2).join('.')}.${'A'.repeat(86)}`,
  'another signature': aProof({ ...GOOD, key: { ...THIEF, jwk: KEY.jwk } }),
  'its signature in DER': resigned((_, input) => sign('sha256', Buffer.from(input), KEY.privateKey)),
  'the numbers of its signature with zeros in front': resigned((signature) =>
    Buffer.concat([Buffer.alloc(16), signature.subarray(0, 32), Buffer.alloc(16), signature.subarray(32)]),
  ),
  'a signature of zeros': resigned((signature) => Buffer.alloc(signature.length)),
  'a signature with a byte too few': resigned((signature) => signature.subarray(1)),
  "a thief's own key": aProof({ ...GOOD, key: THIEF }),
  'a proof that was stolen on its way with another token': aProof({ ...GOOD, token: 'other' }),
  'another method': aProof({ ...GOOD, method: 'POST' }),
  'another address': aProof({ ...GOOD, url: 'https://api.test/api/posts' }),
  'too old': aProof({ ...GOOD, claims: { jti: 'id', iat: NOW - 61 } }),
  'another type': aProof({ ...GOOD, header: { typ: 'JWT' } }),
}

t.test('a proof ID is stored only when the whole proof is valid', async (t) => {
  const used = createUsedProofs()
  for (const [what, text] of Object.entries(REJECTED)) {
    t.hasProp(await verify(text, used), 'rejected', what)
    t.equal(used.size, 0, `${what} is not stored`)
  }
  t.match(await verify(aProof(GOOD), used, NONCES), { rejected: 'proof_nonce' })
  t.equal(used.size, 0, 'a proof without a nonce is not stored, because the client retries with it')

  t.match(await verify(aProof(GOOD), used), { thumbprint: KEY.thumbprint }, 'the ID is still unused')
  t.equal(used.size, 1)
  t.match(await verify(aProof(GOOD), used), { rejected: 'proof_invalid', fault: 'replayed' })
})

t.test(
  'a proof with another key than the key of the token has its own error, and skips later checks',
  async (t) => {
    const used = createUsedProofs()
    await verify(aProof(GOOD), used)
    for (const id of ['id', 'new'])
      t.same(await verify(aProof({ ...GOOD, key: THIEF, claims: { jti: id, iat: NOW } }), used), {
        rejected: 'token_invalid',
        fault: { reason: 'wrong_key' },
      })
  },
)
