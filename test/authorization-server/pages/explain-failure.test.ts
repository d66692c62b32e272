import t from 'tap'
import { InteractionError } from '../../../authorization-server/engine/interactions.ts'
import { explainFailure } from '../../../authorization-server/pages/explain-failure.ts'
import { StoreError } from '../../../authorization-server/store/store.ts'

const withCode = (code: string): Error => Object.assign(new Error('secret'), { code })

const CASES = [
  [
    new InteractionError('ERR_INTERACTION_EXPIRED', 'secret'),
    {
      status: 400,
      error: 'interaction_expired',
      description: 'The interaction does not exist in this browser or has expired.',
      ours: false,
    },
  ],
  [
    new InteractionError('ERR_INTERACTION_OTHER_BROWSER', 'secret'),
    {
      status: 403,
      error: 'other_browser',
      description: 'The interaction cookie does not belong to this URL.',
      ours: false,
    },
  ],
  [
    new InteractionError('ERR_INTERACTION_STEP', 'secret'),
    {
      status: 400,
      error: 'wrong_step',
      description: 'The interaction expects another step.',
      ours: false,
    },
  ],
  [
    withCode('FST_ERR_CTP_BODY_TOO_LARGE'),
    { status: 413, error: 'form_unreadable', description: 'The form is too large.', ours: false },
  ],
  [
    withCode('FST_ERR_CTP_INVALID_MEDIA_TYPE'),
    {
      status: 415,
      error: 'form_unreadable',
      description: 'The content type of a form must be application/x-www-form-urlencoded.',
      ours: false,
    },
  ],
  [
    withCode('FST_ERR_CTP_INVALID_CONTENT_LENGTH'),
    { status: 400, error: 'form_unreadable', description: 'The form is incomplete.', ours: false },
  ],
  [
    new StoreError('ERR_STORE_UNAVAILABLE', 'secret'),
    {
      status: 503,
      error: 'temporarily_unavailable',
      description: 'The store is unavailable.',
      retryAfterSeconds: 2,
      ours: true,
    },
  ],
  ...[withCode('ERR_OTHER'), undefined, null, 'secret'].map(
    (failure) =>
      [failure, { status: 500, error: 'server_error', description: 'Internal error.', ours: true }] as const,
  ),
] as const

t.test('explainFailure() returns the status, code and description of each failure', async (t) => {
  for (const [failure, explained] of CASES) t.strictSame(explainFailure(failure), explained, String(failure))
})
