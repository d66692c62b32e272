import t from 'tap'
import { validateToken } from '../../../../gateway/pipeline/stages/validate-token.ts'
import type { TokenStatus } from '../../../../gateway/tokens/cache/token-status.ts'
import type { TokenValidator } from '../../../../gateway/tokens/cache/token-validator.ts'
import { UnverifiableError } from '../../../../gateway/tokens/unverifiable-error.ts'
import { EMPTY_CLAIM_SELECTION } from '../../../../policy-engine/decide/named-claims.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'

class Unavailable extends UnverifiableError {
  readonly code = 'ERR_TEST'
}

/** Validates a token with this status, and records the input of the validator and the errors. */
function validate(status: TokenStatus | Promise<TokenStatus>) {
  const inputs: unknown[] = []
  const errors: unknown[] = []
  const verdictOf: TokenValidator['verdictOf'] = (...input) => {
    inputs.push(input)
    return status
  }
  const result = validateToken('token-1', ['https://a.test'], {
    verdicts: { verdictOf } as TokenValidator,
    wanted: EMPTY_CLAIM_SELECTION,
    onFailure: (error) => errors.push(error),
  })
  return { result, inputs, errors }
}

t.test('validateToken() returns the caller synchronously on a cache hit', async (t) => {
  const caller = aCaller()
  const { result, inputs } = validate({ active: true, caller })
  t.equal(result, caller)
  t.strictSame(inputs, [['token-1', ['https://a.test'], EMPTY_CLAIM_SELECTION]])
  t.equal(await validate(Promise.resolve({ active: true, caller })).result, caller)
})

t.test('validateToken() rejects an inactive token with its fault', async (t) => {
  const refusal = { refused: 'token_invalid', fault: { reason: 'inactive' } }
  const status: TokenStatus = { active: false, fault: { reason: 'inactive' } }
  t.strictSame(validate(status).result, refusal)
  t.strictSame(await validate(Promise.resolve(status)).result, refusal)
})

t.test('validateToken() reports an unavailable issuer, with the delay in whole seconds', async (t) => {
  for (const [retryAfterMs, retryAfterSeconds] of [
    [undefined, 2],
    [0, 1],
    [1_000, 1],
    [1_001, 2],
    [7_500, 8],
  ] as const) {
    const error = new Unavailable('unavailable', retryAfterMs === undefined ? {} : { retryAfterMs })
    const { result, errors } = validate(Promise.reject(error))
    t.strictSame(await result, { refused: 'token_unverifiable', retryAfterSeconds })
    t.strictSame(errors, [error])
  }
})

t.test('validateToken() rejects with any other error', async (t) => {
  const { result, errors } = validate(Promise.reject(new Error('made up')))
  await t.rejects(Promise.resolve(result), { message: 'made up' })
  t.strictSame(errors, [])
})
