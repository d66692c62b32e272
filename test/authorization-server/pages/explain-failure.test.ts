import t from 'tap'
import { InteractionError } from '../../../authorization-server/engine/interactions.ts'
import { explainFailure } from '../../../authorization-server/pages/explain-failure.ts'
import { StoreError } from '../../../authorization-server/store/store-error.ts'

const withCode = (code: string): Error => Object.assign(new Error('secret'), { code })

const CASES = [
  [new InteractionError('ERR_INTERACTION_EXPIRED', 'secret'), 400, 'interaction_expired', false],
  [new InteractionError('ERR_INTERACTION_OTHER_BROWSER', 'secret'), 403, 'other_browser', false],
  [new InteractionError('ERR_INTERACTION_STEP', 'secret'), 400, 'wrong_step', false],
  [withCode('FST_ERR_CTP_BODY_TOO_LARGE'), 413, 'form_unreadable', false],
  [withCode('FST_ERR_CTP_INVALID_MEDIA_TYPE'), 415, 'form_unreadable', false],
  [withCode('FST_ERR_CTP_INVALID_CONTENT_LENGTH'), 400, 'form_unreadable', false],
  [new StoreError('ERR_STORE_UNAVAILABLE', 'secret'), 503, 'temporarily_unavailable', true],
  [withCode('ERR_OTHER'), 500, 'server_error', true],
  [undefined, 500, 'server_error', true],
] as const

t.test('explainFailure() returns the status and the error code of each failure', async (t) => {
  for (const [failure, status, error, ours] of CASES)
    t.match(explainFailure(failure), { status, error, ours }, String(failure))
  t.equal(explainFailure(CASES[6][0]).retryAfterSeconds, 2)
})

t.test('explainFailure() describes each failure differently, and hides the internal message', async (t) => {
  const descriptions = CASES.map(([failure]) => explainFailure(failure).description)
  t.equal(new Set(descriptions).size, CASES.length - 1, 'unknown failures share one description')
  for (const description of descriptions) t.notMatch(description, 'secret')
})
