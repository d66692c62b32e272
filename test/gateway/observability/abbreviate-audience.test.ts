import t from 'tap'
import { abbreviateAudience } from '../../../gateway/observability/abbreviate-audience.ts'

t.test('abbreviateAudience() keeps five members and counts the others', async (t) => {
  t.strictSame(abbreviateAudience([]), [])
  t.strictSame(abbreviateAudience(['a', 'b', 'c', 'd', 'e']), ['a', 'b', 'c', 'd', 'e'])
  t.strictSame(abbreviateAudience(['a', 'b', 'c', 'd', 'e', 'f']), ['a', 'b', 'c', 'd', 'e', '(1 more)'])
  t.strictSame(abbreviateAudience(['a', 'b', 'c', 'd', 'e', 'f', 'g']), ['a', 'b', 'c', 'd', 'e', '(2 more)'])
})

t.test('abbreviateAudience() keeps 100 characters of a member and states its length', async (t) => {
  const text = 'x'.repeat(100)
  t.strictSame(abbreviateAudience([text, `${text}y`]), [text, `${text}... (101 characters)`])
})

t.test('abbreviateAudience() escapes control and bidirectional characters', async (t) => {
  t.strictSame(abbreviateAudience(['a\u001b[1m', 'b\u202e']), ['a\\u{1b}[1m', 'b\\u{202e}'])
})
