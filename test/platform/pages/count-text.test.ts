import t from 'tap'
import { countText } from '../../../platform/pages/count-text.ts'

t.test('countText() uses the singular only for a count of one', async (t) => {
  t.same(
    [0, 1, 2, 21].map((count) => countText(count, 'sign-in')),
    ['0 sign-ins', '1 sign-in', '2 sign-ins', '21 sign-ins'],
  )
})
