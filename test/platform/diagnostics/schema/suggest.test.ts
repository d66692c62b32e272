import t from 'tap'
import { suggest } from '../../../../platform/diagnostics/schema/suggest.ts'

t.test('suggest() returns no suggestion when no candidate is similar', async (t) => {
  t.equal(suggest('banana', ['courses:read', 'orders:read']), undefined)
  t.equal(suggest('', ['a', 'url']), undefined)
  t.equal(suggest('x'.repeat(100_000), ['courses:read']), undefined)
  t.equal(suggest('timout', []), undefined)
})

t.test('suggest() finds the intended word', async (t) => {
  const words = ['timeout', 'courses:read', 'courses:write', 'membership_plans:read', 'learning-platform']
  t.equal(suggest('timout', words), 'timeout')
  t.equal(suggest('course:read', words), 'courses:read')
  t.equal(suggest('courses:raed', words), 'courses:read')
  t.equal(suggest('COURSES:WRITE', words), 'courses:write')
  t.equal(suggest('membership-plans:read', words), 'membership_plans:read')
  t.equal(suggest('learning-platfrom', words), 'learning-platform')
})
