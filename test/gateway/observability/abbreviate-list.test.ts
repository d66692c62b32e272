import t from 'tap'
import { abbreviateList } from '../../../gateway/observability/abbreviate-list.ts'

t.test('abbreviateList() keeps the given number of members and counts the others', async (t) => {
  t.strictSame(abbreviateList([]), [])
  t.strictSame(abbreviateList(['a', 'b', 'c', 'd', 'e']), ['a', 'b', 'c', 'd', 'e'])
  t.strictSame(abbreviateList(['a', 'b', 'c', 'd', 'e', 'f']), ['a', 'b', 'c', 'd', 'e', '(1 more)'])
  t.strictSame(abbreviateList(['a', 'b', 'c', 'd', 'e', 'f', 'g']), ['a', 'b', 'c', 'd', 'e', '(2 more)'])
})

t.test('abbreviateList() keeps 100 characters of a member and states its length', async (t) => {
  const text = 'x'.repeat(100)
  t.strictSame(abbreviateList([text, `${text}y`]), [text, `${text}... (101 characters)`])
})

t.test('abbreviateList() escapes control and bidirectional characters', async (t) => {
  t.strictSame(abbreviateList(['a\u001b[1m', 'b\u202e']), ['a\\u{1b}[1m', 'b\\u{202e}'])
})
