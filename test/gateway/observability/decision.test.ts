import t from 'tap'
import { ALLOWED, ALLOWED_ANONYMOUS } from '../../../gateway/observability/decision.ts'

t.test('the decisions to allow a caller have the documented labels', async (t) => {
  t.strictSame(ALLOWED, { decision: 'allow', reason: 'ok' })
  t.strictSame(ALLOWED_ANONYMOUS, { decision: 'allow', reason: 'anonymous' })
})
